#include "base/math/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace chokepoint::math {
namespace {

TEST(Statistics, NothingHasNoMedian) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(mean({}), std::nullopt);
  EXPECT_EQ(quantile({}, 0.5), std::nullopt);
  EXPECT_EQ(median_absolute_deviation({}), std::nullopt);
  EXPECT_EQ(distribution({}).count, 0U);
}

TEST(Statistics, MedianOfOddAndEven) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
}

TEST(Statistics, QuantilesInterpolate) {
  const std::vector values{10.0, 20.0, 30.0, 40.0, 50.0};
  EXPECT_EQ(quantile(values, 0), 10.0);
  EXPECT_EQ(quantile(values, 1), 50.0);
  EXPECT_DOUBLE_EQ(*quantile(values, 0.9), 46.0);
}

TEST(Statistics, OneWildValueDoesNotMoveTheSpread) {
  EXPECT_EQ(median_absolute_deviation(std::vector{1.0, 2.0, 3.0, 4.0, 1e9}), 1.0);
}

TEST(Statistics, Distribution) {
  const Distribution d = distribution(std::vector{2.0, 4.0, 9.0});
  EXPECT_EQ(d.min, 2);
  EXPECT_EQ(d.median, 4);
  EXPECT_EQ(d.max, 9);
  EXPECT_EQ(d.mean, 5);
  EXPECT_EQ(d.count, 3U);
  EXPECT_DOUBLE_EQ(d.p99, 8.9);
}

}  // namespace
}  // namespace chokepoint::math
