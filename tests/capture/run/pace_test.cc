#include "capture/run/pace.h"

#include <gtest/gtest.h>

namespace chokepoint::capture::run {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

TEST(Pace, IsWhatGrewOverASecond) {
  Pace pace;
  EXPECT_EQ(pace.take(5 * kSecondNs, 1'000, 0).sent_mbps, 0);
  const Pace::Rates rates = pace.take(6 * kSecondNs, 1'001'000, 500'000);
  EXPECT_DOUBLE_EQ(rates.sent_mbps, 8);
  EXPECT_DOUBLE_EQ(rates.received_mbps, 4);
}

TEST(Pace, StaysForASecond) {
  Pace pace;
  pace.take(0, 0, 0);
  pace.take(kSecondNs, 1'000'000, 0);
  EXPECT_DOUBLE_EQ(pace.take(kSecondNs + kSecondNs / 2, 9'000'000, 0).sent_mbps, 8);
  EXPECT_DOUBLE_EQ(pace.take(3 * kSecondNs, 1'000'000, 0).sent_mbps, 0);
}

}  // namespace
}  // namespace chokepoint::capture::run
