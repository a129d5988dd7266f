#include "base/math/transfer_fit.h"

#include <gtest/gtest.h>

#include <vector>

namespace chokepoint::math {
namespace {

TEST(TransferFit, FindsWhatTimesWereMadeOf) {
  std::vector<TimedSize> sizes;
  for (double bytes = 1024; bytes < 1e9; bytes *= 4) {
    sizes.push_back({.bytes = bytes, .time_us = 120 + bytes * 8 / 940});
  }
  const TransferFit fitted = fit_transfer(sizes);
  EXPECT_NEAR(fitted.alpha_us.value(), 120, 1e-6);
  EXPECT_NEAR(fitted.beta_mbps.value(), 940, 1e-6);
}

TEST(TransferFit, SmallSizesCountAsMuchAsLargeOnes) {
  // The large one is off by a tenth: in absolute terms far more than the small one's whole time.
  const std::vector<TimedSize> sizes{{8, 100}, {16, 100}, {1e8, 1.1e6}, {1e8 + 8, 1e6}};
  EXPECT_NEAR(fit_transfer(sizes).alpha_us.value(), 100, 1);
}

TEST(TransferFit, OneSizeCannotTell) {
  EXPECT_EQ(fit_transfer(std::vector<TimedSize>{{1024, 100}}).alpha_us, std::nullopt);
  EXPECT_EQ(fit_transfer(std::vector<TimedSize>{{1024, 100}, {1024, 120}}).beta_mbps, std::nullopt);
  EXPECT_EQ(fit_transfer(std::vector<TimedSize>{}).beta_mbps, std::nullopt);
}

TEST(TransferFit, LatencyIsNeverBelowNothing) {
  const TransferFit fitted = fit_transfer(std::vector<TimedSize>{{1000, 8}, {2000, 24}});
  EXPECT_EQ(fitted.alpha_us, 0);
  EXPECT_GT(fitted.beta_mbps.value(), 0);
}

TEST(TransferFit, WhereLargerSizesTakeNoLongerThereIsNoBandwidth) {
  const TransferFit fitted =
      fit_transfer(std::vector<TimedSize>{{1000, 50}, {2000, 50}, {4000, 40}});
  EXPECT_GT(fitted.alpha_us.value(), 0);
  EXPECT_EQ(fitted.beta_mbps, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::math
