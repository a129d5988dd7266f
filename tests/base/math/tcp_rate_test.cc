#include "base/math/tcp_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chokepoint::math {
namespace {

double packets(double mbps, double rtt_ms) { return mbps * 1000 / 8 * rtt_ms / kSegmentBytes; }

// The windows of RFC 9438's tables, in packets at a round trip of 100 ms.
TEST(TcpRate, RenoAsTheRfcTabulatesIt) {
  EXPECT_NEAR(packets(mathis_mbps(100, 1e-2), 100), 12, 0.5);
  EXPECT_NEAR(packets(mathis_mbps(100, 1e-4), 100), 122, 3);
  EXPECT_NEAR(packets(mathis_mbps(100, 1e-6), 100), 1225, 30);
}

TEST(TcpRate, CubicByItsOwnResponse) {
  EXPECT_NEAR(packets(cubic_mbps(100, 1e-8), 100), 187'400, 200);
  EXPECT_NEAR(packets(cubic_mbps(100, 1e-6), 100), 5926, 10);
  // ¾ of a power: sixteen times less loss, eight times the window.
  EXPECT_NEAR(cubic_mbps(100, 1e-6) / cubic_mbps(100, 16e-6), 8, 1e-9);
}

TEST(TcpRate, CubicIsNoLessThanReno) {
  EXPECT_DOUBLE_EQ(cubic_mbps(100, 1e-2), mathis_mbps(100, 1e-2));
  EXPECT_DOUBLE_EQ(cubic_mbps(1, 1e-4), mathis_mbps(1, 1e-4));
  EXPECT_GT(cubic_mbps(100, 1e-5), mathis_mbps(100, 1e-5));
}

TEST(TcpRate, PftkIsMathisWithTimeouts) {
  EXPECT_NEAR(pftk_mbps(100, 1e-6, 300) / mathis_mbps(100, 1e-6), 1, 0.01);
  EXPECT_LT(pftk_mbps(100, 0.05, 300), 0.8 * mathis_mbps(100, 0.05));
  // With delayed acknowledgements the window grows half as fast.
  EXPECT_NEAR(pftk_mbps(100, 1e-6, 300, 2) / pftk_mbps(100, 1e-6, 300), std::sqrt(0.5), 0.01);
}

}  // namespace
}  // namespace chokepoint::math
