#include "base/sys/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace chokepoint::sys {
namespace {

TEST(Parallel, EachIsDoneOnce) {
  std::vector<std::atomic<int>> done(1000);
  for_each_in_parallel("test", done.size(), [&](std::size_t at) { ++done[at]; });
  EXPECT_TRUE(std::ranges::all_of(done, [](const std::atomic<int>& times) { return times == 1; }));
}

TEST(Parallel, NothingIsNothing) {
  for_each_in_parallel("test", 0, [](std::size_t) { FAIL(); });
}

TEST(Parallel, NoMoreThreadsThanAreWanted) {
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  for_each_in_parallel(
      "test", 100,
      [&](std::size_t) {
        most = std::max(most.load(), ++at_once);
        --at_once;
      },
      1);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace chokepoint::sys
