#include "probe/udp/sender.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::probe::udp {
namespace {

using fakes::kMs;
using fakes::kSecond;

// A sender that wakes `late_ns` after each time it asked for.
std::uint64_t packets_sent(Pacer& pacer, std::int64_t from_ns, std::int64_t until_ns,
                           std::int64_t late_ns, BurstMeter* meter = nullptr) {
  std::uint64_t sent = 0;
  std::int64_t now = from_ns;
  while ((now = std::max(now, pacer.next_ns()) + late_ns) < until_ns) {
    const std::uint32_t due = pacer.due(now);
    EXPECT_GT(due, 0U);
    pacer.sent(due, now);
    sent += due;
    if (meter != nullptr) {
      meter->add(due, now);
    }
  }
  return sent;
}

TEST(BatchFor, OnePacketUntilSystemCallsBecomeTooMany) {
  EXPECT_EQ(batch_for(85, 44), 1U);        // 1 Mb/s of 1472 bytes
  EXPECT_EQ(batch_for(8'500, 44), 1U);     // 100 Mb/s
  EXPECT_EQ(batch_for(85'000, 44), 8U);    // 1 Gb/s
  EXPECT_EQ(batch_for(850'000, 44), 44U);  // 10 Gb/s, and no more than a message holds
}

TEST(Pacer, HoldsTheRateWhateverTheRate) {
  for (const double rate : {1.0, 85.0, 8'492.0, 84'918.0, 849'184.0}) {
    Pacer pacer(rate, batch_for(rate, 44), 7 * kSecond);
    const auto sent = packets_sent(pacer, 7 * kSecond, 17 * kSecond, 0);
    EXPECT_NEAR(static_cast<double>(sent), rate * 10, std::max(rate * 10 * 0.001, 1.0)) << rate;
    EXPECT_EQ(pacer.skipped(), 0U);
  }
}

TEST(Pacer, ALateSleeperDoesNotLoseTheRate) {
  Pacer pacer(84'918, 8, 0);
  const auto sent = packets_sent(pacer, 0, 10 * kSecond, 15'000);
  EXPECT_NEAR(static_cast<double>(sent), 849'180, 849);
}

TEST(Pacer, NothingIsDueBeforeItsTime) {
  Pacer pacer(1000, 1, 0);
  EXPECT_EQ(pacer.due(0), 1U);
  pacer.sent(1, 0);
  EXPECT_EQ(pacer.due(kMs - 1), 0U);
  EXPECT_EQ(pacer.next_ns(), kMs);
  EXPECT_EQ(pacer.due(kMs), 1U);
}

TEST(Pacer, AStallIsMadeUpForWithoutABurst) {
  constexpr double kRate = 10'000;
  Pacer pacer(kRate, 1, 0);
  BurstMeter meter(kRate);
  packets_sent(pacer, 0, kSecond, 0, &meter);
  // Descheduled for 50 ms: 500 packets behind.
  std::int64_t now = kSecond + 50 * kMs;
  ASSERT_EQ(pacer.due(now), 1U);
  pacer.sent(1, now);
  EXPECT_EQ(pacer.due(now), 0U) << "no second one at once";
  EXPECT_EQ(pacer.next_ns() - now, 80'000) << "but somewhat sooner than the usual 100 us";
  const auto sent = packets_sent(pacer, now, 2 * kSecond, 0, &meter);
  EXPECT_NEAR(static_cast<double>(sent), kRate, kRate * 0.001);
  EXPECT_EQ(meter.burst().batch_packets, 1U);
  EXPECT_EQ(pacer.skipped(), 0U);
}

TEST(Pacer, ALongStallIsGivenUpAndCounted) {
  constexpr double kRate = 10'000;
  Pacer pacer(kRate, 1, 0);
  pacer.sent(1, 0);
  const std::int64_t now = 10 * kSecond;
  pacer.sent(1, now);
  EXPECT_NEAR(static_cast<double>(pacer.skipped()), kRate * 9.9, 2);
  const auto sent = packets_sent(pacer, now, now + 10 * kSecond, 0);
  EXPECT_NEAR(static_cast<double>(sent), kRate * 10.1, kRate * 0.01) << "100 ms are made up for";
}

TEST(BurstMeter, EvenPacketsAreNoBurst) {
  BurstMeter meter(1000);
  for (std::int64_t now = 0; now < kSecond; now += kMs) {
    meter.add(1, now);
  }
  EXPECT_EQ(meter.burst().batch_packets, 1U);
  EXPECT_NEAR(meter.burst().bucket_packets, 1, 1e-6);
  EXPECT_EQ(meter.burst().hurried_ns, 0);
}

TEST(BurstMeter, WhatABucketWouldHaveToHold) {
  BurstMeter meter(1000);
  meter.add(1, kSecond);
  // Ten packets in the time of five.
  for (int i = 1; i <= 10; ++i) {
    meter.add(1, kSecond + i * kMs / 2);
  }
  meter.add(3, 2 * kSecond);
  EXPECT_EQ(meter.burst().batch_packets, 3U);
  EXPECT_NEAR(meter.burst().bucket_packets, 6, 1e-6);
  EXPECT_EQ(meter.burst().hurried_ns, 5 * kMs);
}

}  // namespace
}  // namespace chokepoint::probe::udp
