#include "base/sys/late.h"

#include <gtest/gtest.h>

#include <memory>

namespace chokepoint::sys {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

TEST(Late, WorkThatIsDoneGivesItsResult) {
  Late<int> work([] { return 42; });
  EXPECT_EQ(work.by(steady_clock::now() + seconds(10)), 42);
}

TEST(Late, WorkThatHangsIsNotWaitedFor) {
  auto never = std::make_shared<std::promise<int>>();
  Late<int> work([never] { return never->get_future().get(); });
  const steady_clock::time_point start = steady_clock::now();
  EXPECT_EQ(work.by(start + milliseconds(50)), std::nullopt);
  EXPECT_LT(steady_clock::now() - start, seconds(5));
  never->set_value(1);
}

}  // namespace
}  // namespace chokepoint::sys
