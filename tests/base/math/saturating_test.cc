#include "base/math/saturating.h"

#include <gtest/gtest.h>

namespace chokepoint::math {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(SaturatedSum, IsTheSumWhereThatIsANumber) {
  EXPECT_EQ(saturated_sum(2, 3), 5);
  EXPECT_EQ(saturated_sum(kMost, -kMost), 0);
  EXPECT_EQ(saturated_sum(kMost - 1, 1), kMost);
}

TEST(SaturatedSum, StaysAtTheEndOfAllNumbers) {
  EXPECT_EQ(saturated_sum(kMost, 1), kMost);
  EXPECT_EQ(saturated_sum(1, kMost), kMost);
  EXPECT_EQ(saturated_sum(kLeast, -1), kLeast);
  EXPECT_EQ(saturated_sum(-1, kLeast), kLeast);
}

}  // namespace
}  // namespace chokepoint::math
