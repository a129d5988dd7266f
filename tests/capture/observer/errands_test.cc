#include "capture/observer/errands.h"

#include <gtest/gtest.h>

#include <thread>

namespace chokepoint::capture::observer {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{60'000};

TEST(ThreadTasks, AreRunByTheThreadThatIsAsked) {
  ThreadTasks tasks;
  std::atomic<bool> is_over = false;
  std::thread worker([&] {
    while (!is_over) {
      tasks.run();
      std::this_thread::yield();
    }
  });
  std::thread::id ran_by;
  EXPECT_TRUE(tasks.ask([&] { ran_by = std::this_thread::get_id(); }, kPatience));
  EXPECT_EQ(ran_by, worker.get_id());
  is_over = true;
  worker.join();
}

TEST(ThreadTasks, AreWithdrawnWhereNobodyComesBy) {
  ThreadTasks tasks;
  bool has_run = false;
  EXPECT_FALSE(tasks.ask([&] { has_run = true; }, milliseconds(0)));
  tasks.run();
  EXPECT_FALSE(has_run);
}

TEST(ThreadTasks, AreRunOnce) {
  ThreadTasks tasks;
  std::atomic<int> runs = 0;
  std::thread asker([&] { tasks.ask([&] { ++runs; }, kPatience); });
  while (runs == 0) {
    tasks.run();
  }
  asker.join();
  tasks.run();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace chokepoint::capture::observer
