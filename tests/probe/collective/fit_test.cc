#include "probe/collective/fit.h"

#include <gtest/gtest.h>

#include <vector>

namespace chokepoint::probe::collective {
namespace {

TEST(Fit, FindsWhatTimesWereMadeOf) {
  std::vector<Timed> sizes;
  for (double bytes = 1024; bytes < 1e9; bytes *= 4) {
    sizes.push_back({.bytes = bytes, .time_us = 120 + bytes * 8 / 940});
  }
  const Fit fitted = fit(sizes);
  EXPECT_NEAR(fitted.alpha_us.value(), 120, 1e-6);
  EXPECT_NEAR(fitted.beta_mbps.value(), 940, 1e-6);
}

TEST(Fit, SmallSizesCountAsMuchAsLargeOnes) {
  // The large one is off by a tenth: in absolute terms far more than the small one's whole time.
  const std::vector<Timed> sizes{{8, 100}, {16, 100}, {1e8, 1.1e6}, {1e8 + 8, 1e6}};
  EXPECT_NEAR(fit(sizes).alpha_us.value(), 100, 1);
}

TEST(Fit, OneSizeCannotTell) {
  EXPECT_EQ(fit(std::vector<Timed>{{1024, 100}}).alpha_us, std::nullopt);
  EXPECT_EQ(fit(std::vector<Timed>{{1024, 100}, {1024, 120}}).beta_mbps, std::nullopt);
  EXPECT_EQ(fit(std::vector<Timed>{}).beta_mbps, std::nullopt);
}

TEST(Fit, LatencyIsNeverBelowNothing) {
  const Fit fitted = fit(std::vector<Timed>{{1000, 8}, {2000, 24}});
  EXPECT_EQ(fitted.alpha_us, 0);
  EXPECT_GT(fitted.beta_mbps.value(), 0);
}

TEST(Fit, WhereLargerSizesTakeNoLongerThereIsNoBandwidth) {
  const Fit fitted = fit(std::vector<Timed>{{1000, 50}, {2000, 50}, {4000, 40}});
  EXPECT_GT(fitted.alpha_us.value(), 0);
  EXPECT_EQ(fitted.beta_mbps, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::probe::collective
