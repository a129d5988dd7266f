// Tests of noise, against values known by hand or from printed tables, and against what they
// promise: of many draws of the same, how many are taken for different.
#include "base/math/significance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace chokepoint::math {
namespace {

using Values = std::vector<double>;

// Sums of twelve uniform draws: near enough to normal, and the same wherever it is built.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += uniform();
    }
    return sum;
  }
  Values normals(std::size_t count, double center, double spread) {
    Values values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(center + spread * normal());
    }
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

TEST(MannWhitney, ValuesAllApartGiveTheLeast) {
  // 2 of 70 ways, 2 of 252, 2 of 20.
  EXPECT_NEAR(*mann_whitney_p(Values{1, 2, 3, 4}, Values{5, 6, 7, 8}), 2.0 / 70, 1e-12);
  EXPECT_NEAR(*mann_whitney_p(Values{1, 2, 3, 4, 5}, Values{6, 7, 8, 9, 10}), 2.0 / 252, 1e-12);
  EXPECT_NEAR(*mann_whitney_p(Values{4, 5, 6}, Values{1, 2, 3}), 2.0 / 20, 1e-12);
  EXPECT_NEAR(least_mann_whitney_p(4, 4), 2.0 / 70, 1e-12);
  EXPECT_NEAR(least_mann_whitney_p(5, 3), 2.0 / 56, 1e-12);
  EXPECT_EQ(least_mann_whitney_p(1, 1), 1);
}

TEST(MannWhitney, PrintedCriticalValues) {
  // U = 2 of five and five is the last that is below 0.05: 8 of 252; U = 3: 14 of 252.
  EXPECT_NEAR(*mann_whitney_p(Values{1, 2, 3, 4, 7}, Values{5, 6, 8, 9, 10}), 8.0 / 252, 1e-12);
  EXPECT_NEAR(*mann_whitney_p(Values{1, 2, 3, 4, 8}, Values{5, 6, 7, 9, 10}), 14.0 / 252, 1e-12);
}

TEST(MannWhitney, TiesTakeTheirMeanRank) {
  EXPECT_EQ(*mann_whitney_p(Values{1, 1, 1}, Values{1, 1, 1, 1}), 1);
  // Of six ways to take two of {1, 2.5, 2.5, 4}, four are as far from five as 3.5 is.
  EXPECT_NEAR(*mann_whitney_p(Values{1, 2}, Values{2, 3}), 4.0 / 6, 1e-12);
}

TEST(MannWhitney, IsTheSameBothWaysRound) {
  const Values one{3, 9, 4, 1, 6};
  const Values other{2, 8, 10, 12};
  EXPECT_NEAR(*mann_whitney_p(one, other), *mann_whitney_p(other, one), 1e-12);
  EXPECT_FALSE(mann_whitney_p(one, Values{}));
}

// Behind sixty values: U = 0 of 31 and 31 is 480 from what is expected, corrected by a half, where
// the standard deviation is √(31·31·63/12).
TEST(MannWhitney, ManyByTheNormalApproximation) {
  Values low;
  Values high;
  Values odd;
  Values even;
  for (int i = 0; i < 31; ++i) {
    low.push_back(i);
    high.push_back(100 + i);
    odd.push_back(2 * i + 1);
    even.push_back(2 * i);
  }
  const double off = 480 / std::sqrt(31 * 31 * 63 / 12.0);
  EXPECT_NEAR(*mann_whitney_p(low, high) / std::erfc(off / std::sqrt(2.0)), 1, 1e-9);
  EXPECT_GT(*mann_whitney_p(odd, even), 0.8);
  EXPECT_EQ(*mann_whitney_p(Values(40, 7), Values(40, 7)), 1);
}

TEST(Means, TheirSpreadAndInterval) {
  const Values values{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_NEAR(*standard_deviation(values), 2.138090, 1e-6);
  const Interval interval = *mean_interval(values, 0.95);  // t of seven: 2.364624
  EXPECT_NEAR(interval.low, 5 - 2.364624 * 2.138090 / std::sqrt(8.0), 1e-5);
  EXPECT_NEAR(interval.high, 5 + 2.364624 * 2.138090 / std::sqrt(8.0), 1e-5);
  EXPECT_FALSE(standard_deviation(Values{1}));
  EXPECT_FALSE(mean_interval(Values{1}, 0.95));
}

// Means 2 and 7, variances 1 and 20/3: t = 5/√2 with 4.0755 degrees of freedom, whose distribution
// was integrated by Simpson's rule.
TEST(Means, WelchsTest) {
  const MeanTest test = *compare_means(Values{1, 2, 3}, Values{4, 6, 8, 10}, 0.95);
  EXPECT_NEAR(test.p, 0.0233768, 1e-6);
  EXPECT_NEAR((test.less.low + test.less.high) / 2, 5, 1e-12);
  EXPECT_GT(test.less.low, 0);
}

TEST(Means, ASingleValueBorrowsTheOthersSpread) {
  const Values known{10, 11, 9, 10};  // spread 0.8165, so the difference is known to 0.9129
  const MeanTest test = *compare_means(known, Values{13}, 0.95);
  EXPECT_NEAR(test.less.low, 3 - 3.182446 * 0.912871, 1e-4);
  EXPECT_NEAR(test.p, 0.0462, 1e-3);
  EXPECT_NEAR(compare_means(Values{13}, known, 0.95)->p, test.p, 1e-12);
  EXPECT_FALSE(compare_means(Values{1}, Values{2}, 0.95));
}

TEST(Means, WithoutAnySpread) {
  EXPECT_EQ(compare_means(Values{2, 2}, Values{2, 2}, 0.95)->p, 1);
  EXPECT_EQ(compare_means(Values{2, 2}, Values{3, 3}, 0.95)->p, 0);
}

TEST(Holm, TheLeastIsCorrectedMost) {
  const Values corrected_ps = corrected(Values{0.01, 0.04, 0.03, 0.005});
  EXPECT_NEAR(corrected_ps[3], 0.02, 1e-12);
  EXPECT_NEAR(corrected_ps[0], 0.03, 1e-12);
  EXPECT_NEAR(corrected_ps[2], 0.06, 1e-12);
  EXPECT_NEAR(corrected_ps[1], 0.06, 1e-12);  // never less than one before it
  EXPECT_EQ(corrected(Values{0.9, 0.8})[0], 1);
  EXPECT_TRUE(corrected(Values{}).empty());
}

TEST(Blocks, AreAsEqualAsTheyCanBe) {
  EXPECT_EQ(block_means(Values{1, 3, 5, 7}, 2), (Values{2, 6}));
  EXPECT_EQ(block_means(Values{1, 2, 3}, 2), (Values{1, 2.5}));
  EXPECT_EQ(block_means(Values{4, 5}, 9), (Values{4, 5}));
  EXPECT_TRUE(block_means(Values{}, 4).empty());
}

TEST(Bootstrap, TheRatioLiesInItsInterval) {
  Chance chance(5);
  const Values one = chance.normals(100, 100, 5);
  const Values other = chance.normals(100, 120, 5);
  const Interval interval = *bootstrap_ratio(one, other, 5, 0.95);
  EXPECT_GT(1.2, interval.low);
  EXPECT_LT(1.2, interval.high);
  EXPECT_LT(interval.high - interval.low, 0.05);
  EXPECT_EQ(bootstrap_ratio(one, other, 5, 0.95)->low, interval.low);
  EXPECT_FALSE(bootstrap_ratio(one, Values{}, 5, 0.95));
  EXPECT_FALSE(bootstrap_ratio(Values{0, 0}, one, 5, 0.95));
}

// What 0.05 promises, of two thousand draws: 5 % of them, give or take what chance allows.
constexpr int kDraws = 2000;

double share_below(double level, const std::function<double(Chance&)>& p_of_draw) {
  Chance chance(11);
  int below = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    below += p_of_draw(chance) <= level ? 1 : 0;
  }
  return static_cast<double>(below) / kDraws;
}

TEST(FalseAlarms, OfRanksAreNoMoreThanPromised) {
  const double share = share_below(0.05, [](Chance& chance) {
    return *mann_whitney_p(chance.normals(5, 100, 3), chance.normals(5, 100, 3));
  });
  EXPECT_LE(share, 0.05);
  EXPECT_GE(share, 0.015);  // exact and discrete: 8 of 252 is what five and five can reach
}

TEST(FalseAlarms, OfMeansAreAsPromised) {
  const double share = share_below(0.05, [](Chance& chance) {
    return compare_means(chance.normals(3, 100, 3), chance.normals(4, 100, 3), 0.95)->p;
  });
  EXPECT_NEAR(share, 0.05, 0.015);
}

TEST(FalseAlarms, OfASingleRunAreAsPromised) {
  const double share = share_below(0.05, [](Chance& chance) {
    return compare_means(chance.normals(5, 100, 3), chance.normals(1, 100, 3), 0.95)->p;
  });
  EXPECT_NEAR(share, 0.05, 0.015);
}

// Steps that take after the one before: blocks of them do so less.
TEST(FalseAlarms, OfBlocksOfStepsAreAboutAsPromised) {
  const auto steps = [](Chance& chance) {
    Values values;
    double off = chance.normal();
    for (int i = 0; i < 60; ++i) {
      off = 0.3 * off + std::sqrt(1 - 0.09) * chance.normal();
      values.push_back(100 + 3 * off);
    }
    return block_means(values, 12);
  };
  const double share = share_below(0.05, [&](Chance& chance) {
    const Values one = steps(chance);
    return *mann_whitney_p(one, steps(chance));
  });
  EXPECT_LE(share, 0.08);
  EXPECT_GE(share, 0.02);
}

TEST(FalseAlarms, AmongManyAreCorrected) {
  const double share = share_below(0.05, [](Chance& chance) {
    Values ps;
    const Values reference = chance.normals(5, 100, 3);
    for (int group = 0; group < 8; ++group) {
      ps.push_back(compare_means(reference, chance.normals(5, 100, 3), 0.95)->p);
    }
    return std::ranges::min(corrected(ps));
  });
  EXPECT_LE(share, 0.06);
}

}  // namespace
}  // namespace chokepoint::math
