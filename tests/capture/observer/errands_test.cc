#include "capture/observer/errands.h"

#include <gtest/gtest.h>

#include <thread>

namespace chokepoint::capture::observer {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000};

TEST(Errands, AreRunByTheThreadThatIsAsked) {
  Errands errands;
  std::atomic<bool> is_over = false;
  std::thread worker([&] {
    while (!is_over) {
      errands.run();
      std::this_thread::yield();
    }
  });
  std::thread::id ran_by;
  EXPECT_TRUE(errands.ask([&] { ran_by = std::this_thread::get_id(); }, kLong));
  EXPECT_EQ(ran_by, worker.get_id());
  is_over = true;
  worker.join();
}

TEST(Errands, AreWithdrawnWhereNobodyComesBy) {
  Errands errands;
  bool has_run = false;
  EXPECT_FALSE(errands.ask([&] { has_run = true; }, milliseconds(0)));
  errands.run();
  EXPECT_FALSE(has_run);
}

TEST(Errands, AreRunOnce) {
  Errands errands;
  std::atomic<int> runs = 0;
  std::thread asker([&] { errands.ask([&] { ++runs; }, kLong); });
  while (runs == 0) {
    errands.run();
  }
  asker.join();
  errands.run();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace chokepoint::capture::observer
