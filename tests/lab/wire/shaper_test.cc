#include "tests/lab/wire/shaper.h"

#include <gtest/gtest.h>

#include <vector>

namespace chokepoint::lab {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMillisecond = 1'000'000;

TEST(Shaper, AWireWithoutRateIsItsDelay) {
  Shaper shaper({.delay = 7500us}, 1);
  EXPECT_EQ(shaper.offer(100, {.bytes = 1514}), 100 + 7'500'000);
  EXPECT_EQ(shaper.offer(100, {.bytes = 1514}), 100 + 7'500'000);
}

TEST(Shaper, FramesFollowOneAnotherAtTheRate) {
  Shaper shaper({.bits_per_second = 8e6, .delay = 1ms}, 1);  // a byte a microsecond
  EXPECT_EQ(shaper.offer(0, {.bytes = 1000}), 2 * kMillisecond);
  EXPECT_EQ(shaper.offer(0, {.bytes = 500}), 2'500'000);
  // The line was free for a while: what it did not send is not made up for.
  EXPECT_EQ(shaper.offer(10 * kMillisecond, {.bytes = 1000}), 12 * kMillisecond);
}

TEST(Shaper, AFullQueueDropsAtItsTail) {
  Shaper shaper({.bits_per_second = 8e6, .queue_bytes = 2500}, 1);
  EXPECT_TRUE(shaper.offer(0, {.bytes = 1000}));
  EXPECT_TRUE(shaper.offer(0, {.bytes = 1000}));
  EXPECT_FALSE(shaper.offer(0, {.bytes = 1000}));
  EXPECT_TRUE(shaper.offer(0, {.bytes = 500})) << "a smaller one still fits";
  EXPECT_TRUE(shaper.offer(kMillisecond, {.bytes = 1000})) << "1000 bytes have left by now";
  EXPECT_EQ(shaper.counters().dropped_queue, 1U);
  EXPECT_EQ(shaper.counters().packets, 4U);
  EXPECT_EQ(shaper.counters().bytes, 3500U);
}

TEST(Shaper, AFrameLongerThanTheQueuePassesAnIdleLine) {
  Shaper shaper({.bits_per_second = 8e6, .queue_bytes = 100}, 1);
  EXPECT_TRUE(shaper.offer(0, {.bytes = 1000}));
}

std::vector<int> lost_of(int frames, double loss, std::uint64_t seed) {
  Shaper shaper({.loss = loss}, seed);
  std::vector<int> lost;
  for (int number = 0; number < frames; ++number) {
    if (!shaper.offer(number, {.bytes = 1514})) {
      lost.push_back(number);
    }
  }
  EXPECT_EQ(shaper.counters().dropped_loss, lost.size());
  return lost;
}

TEST(Shaper, LosesTheShareThatIsAskedForTheSameWithTheSameSeed) {
  const auto lost = lost_of(100'000, 0.01, 7);
  EXPECT_NEAR(static_cast<double>(lost.size()), 1000, 4 * 32);  // four standard deviations
  EXPECT_EQ(lost, lost_of(100'000, 0.01, 7));
  EXPECT_NE(lost, lost_of(100'000, 0.01, 8));
  EXPECT_TRUE(lost_of(1000, 0, 7).empty());
  EXPECT_EQ(lost_of(10, 1, 7).size(), 10U);
}

TEST(Shaper, WhatIsLostHasUsedTheLine) {
  Shaper shaper({.bits_per_second = 8e6, .loss = 1}, 1);
  EXPECT_FALSE(shaper.offer(0, {.bytes = 1000}));
  shaper.change({.bits_per_second = 8e6});
  EXPECT_EQ(shaper.offer(0, {.bytes = 1000}), 2 * kMillisecond);
}

TEST(Shaper, AShorterDelayLetsNobodyOvertake) {
  Shaper shaper({.delay = 10ms}, 1);
  EXPECT_EQ(shaper.offer(0, {.bytes = 100}), 10 * kMillisecond);
  shaper.change({.delay = 1ms});
  EXPECT_EQ(shaper.offer(kMillisecond, {.bytes = 100}), 10 * kMillisecond);
  EXPECT_EQ(shaper.offer(20 * kMillisecond, {.bytes = 100}), 21 * kMillisecond);
}

TEST(Shaper, ACutWireSwallowsAndCountsSegments) {
  Shaper shaper({}, 1);
  shaper.cut(true);
  EXPECT_FALSE(shaper.offer(0, {.bytes = 65'000, .packets = 45}));
  shaper.cut(false);
  EXPECT_TRUE(shaper.offer(0, {.bytes = 3028, .packets = 2}));
  shaper.lost_behind({.bytes = 3028, .packets = 2});
  EXPECT_EQ(shaper.counters().dropped_cut, 47U);
  EXPECT_EQ(shaper.counters().packets, 0U);
  EXPECT_EQ(shaper.counters().bytes, 0U);
}

}  // namespace
}  // namespace chokepoint::lab
