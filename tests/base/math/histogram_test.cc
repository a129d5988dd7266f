#include "base/math/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace chokepoint::math {
namespace {

TEST(Histogram, EmptySaysSo) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.distribution().count, 0U);
  EXPECT_EQ(histogram.quantile(0.5), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 256; ++value) {
    histogram.add(value);
  }
  EXPECT_EQ(histogram.quantile(0), 0);
  EXPECT_EQ(histogram.quantile(1), 255);
  EXPECT_EQ(histogram.quantile(100.0 / 255), 100);
}

TEST(Histogram, QuantilesAreWithinOnePercentOfTheTruthOverNineDecades) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(0, 9);
  Histogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 100'000; ++i) {
    const auto value = static_cast<std::uint64_t>(std::pow(10, exponent(random)));
    histogram.add(value);
    values.push_back(static_cast<double>(value));
  }
  std::ranges::sort(values);
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999}) {
    const double truth = *quantile(values, share);
    EXPECT_NEAR(histogram.quantile(share) / truth, 1, 0.01) << share;
  }
}

TEST(Histogram, TheLargestValueFits) {
  Histogram histogram;
  histogram.add(~std::uint64_t{0});
  EXPECT_EQ(histogram.max(), ~std::uint64_t{0});
  EXPECT_EQ(histogram.quantile(0.5), static_cast<double>(~std::uint64_t{0}));
}

TEST(Histogram, MergingIsAddingAll) {
  Histogram low;
  Histogram high;
  low.add(10, 3);
  high.add(1000);
  low.merge(high);
  EXPECT_EQ(low.count(), 4U);
  EXPECT_EQ(low.min(), 10U);
  EXPECT_EQ(low.max(), 1000U);
  EXPECT_DOUBLE_EQ(low.mean(), 257.5);
}

TEST(Histogram, OfAFewValuesAHighPercentileIsTheLargest) {
  Histogram histogram;
  histogram.add(10);
  histogram.add(50);
  EXPECT_EQ(histogram.quantile(0.5), 10);
  EXPECT_EQ(histogram.quantile(0.99), 50);
}

}  // namespace
}  // namespace chokepoint::math
