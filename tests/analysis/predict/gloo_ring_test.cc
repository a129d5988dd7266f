#include "analysis/predict/gloo_ring.h"

#include <gtest/gtest.h>

#include "tests/analysis/predict/binary_units.h"

namespace chokepoint::analysis {
namespace {

TEST(GlooRing, CutsAsGlooDoes) {
  EXPECT_EQ(gloo_segments(1e6, 2).bytes, 250'000);  // at least two a rank
  EXPECT_EQ(gloo_segments(1e6, 2).count, 2);
  EXPECT_EQ(gloo_segments(64 * kMiB, 2).bytes, kMiB);
  EXPECT_EQ(gloo_segments(64 * kMiB, 2).count, 32);
  EXPECT_EQ(gloo_segments(7 * kMiB, 3).bytes, 7 * kMiB / 9);  // as many for each rank
  EXPECT_EQ(gloo_segments(7 * kMiB, 3).count, 6);
}

TEST(GlooRing, WithoutARoundTripItIsARing) {
  EXPECT_DOUBLE_EQ(gloo_ring_ms(64 * kMiB, 4, 0, 1000), 1.5 * 64 * kMiB / 1000);
}

// Each phase of the smallest cut has both its segments in flight at once.
TEST(GlooRing, ASmallTensorTakesTwoRoundTrips) {
  EXPECT_DOUBLE_EQ(gloo_ring_ms(1e6, 2, 15, 1e5), 2 * (15 + 2 * 2.5));
  EXPECT_NEAR(gloo_ring_ms(1000, 2, 15, 1e9), 30, 1e-3);
}

TEST(GlooRing, OverAWanCreditsDecide) {
  const double bytes = 256 * kMiB;
  const double ms = gloo_ring_ms(bytes, 2, 15, 1e9);
  EXPECT_NEAR(bytes * 8 / ms / 1000, gloo_credit_mbps(bytes, 2, 15), 1);
  EXPECT_NEAR(gloo_credit_mbps(bytes, 2, 15) / 8, 139.8, 0.1);  // MB/s, whatever the link
  EXPECT_NEAR(gloo_ring_ms(bytes, 2, 30, 1e9) / ms, 2, 1e-3);
}

TEST(GlooRing, OneRankAloneSendsNothing) { EXPECT_EQ(gloo_ring_ms(1e6, 1, 15, 1000), 0); }

}  // namespace
}  // namespace chokepoint::analysis
