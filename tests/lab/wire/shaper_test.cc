#include "tests/lab/wire/shaper.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(Shaper, LosesAsManyInRunsAsOneByOne) {
  Shaper shaper({.loss = 0.01, .loss_run = 8}, 7);
  int lost = 0;
  int runs = 0;
  bool was_lost = false;
  for (int number = 0; number < 400'000; ++number) {
    const bool is_lost = !shaper.offer(number, {.bytes = 1514});
    lost += is_lost ? 1 : 0;
    runs += is_lost && !was_lost ? 1 : 0;
    was_lost = is_lost;
  }
  EXPECT_NEAR(lost, 4000, 600);
  EXPECT_NEAR(static_cast<double>(lost) / runs, 8, 1);
}

TEST(Shaper, APolicerPassesABucketAtOnceAndThenTheRate) {
  Shaper shaper({.bits_per_second = 8e6, .delay = 1ms, .bucket_bytes = 3000}, 1);
  for (int number = 0; number < 3; ++number) {
    EXPECT_EQ(shaper.offer(0, {.bytes = 1000}), kMillisecond) << "nobody waits for the rate";
  }
  EXPECT_FALSE(shaper.offer(0, {.bytes = 1000}));
  EXPECT_FALSE(shaper.offer(kMillisecond / 2, {.bytes = 1000})) << "500 bytes were refilled";
  EXPECT_TRUE(shaper.offer(kMillisecond, {.bytes = 1000}));
  EXPECT_TRUE(shaper.offer(1000 * kMillisecond, {.bytes = 3000}));
  EXPECT_FALSE(shaper.offer(1000 * kMillisecond, {.bytes = 1000})) << "no more than full";
  EXPECT_EQ(shaper.counters().dropped_queue, 3U);
}

TEST(Shaper, JitterIsBetweenNothingAndAllOfItInOrder) {
  Shaper shaper({.delay = 1ms, .jitter = 2ms}, 3);
  std::int64_t last = 0;
  std::int64_t least = 10 * kMillisecond;
  std::int64_t most = 0;
  for (std::int64_t number = 0; number < 1000; ++number) {
    const std::int64_t sent = number * 10 * kMillisecond;
    const std::int64_t due = *shaper.offer(sent, {.bytes = 100});
    EXPECT_GE(due, last);
    last = due;
    least = std::min(least, due - sent);
    most = std::max(most, due - sent);
  }
  EXPECT_NEAR(static_cast<double>(least), 1e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(most), 3e6, 0.1e6);
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
