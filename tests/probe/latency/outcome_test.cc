#include "probe/latency/outcome.h"

#include <gmock/gmock.h>

#include <cmath>

#include "probe/latency/load.h"

namespace chokepoint::probe::latency {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMillisecond = 1'000'000;

// A hundred round trips, the slowest five of them `tail_ms`.
std::unique_ptr<Phase> phase(std::uint64_t usual_ms, std::uint64_t tail_ms) {
  auto made = std::make_unique<Phase>();
  made->tcp.histogram.add(usual_ms * kMillisecond, 95);
  made->tcp.histogram.add(tail_ms * kMillisecond, 5);
  made->tcp.sent = 102;
  return made;
}

Idle idle(std::uint64_t ms) { return {.tcp = spread_of(phase(ms, ms)->tcp)}; }

LoadResult load(std::vector<double> rtt_ms) {
  return {.connections = 3, .stable = true, .throughput_mbps = 90, .rtt_ms = std::move(rtt_ms)};
}

TEST(Spread, IsInMilliseconds) {
  const Spread spread = spread_of(phase(10, 30)->tcp);
  EXPECT_NEAR(spread.values.median, 10, 0.1);
  EXPECT_NEAR(spread.p90, 10, 0.1);
  EXPECT_NEAR(spread.values.p99, 30, 0.3);
  EXPECT_EQ(spread.values.max, 30);
  EXPECT_EQ(spread.lost(), 2U);
  EXPECT_EQ(spread_of({}).values.count, 0U);
}

TEST(Loaded, BloatIsTheDifferenceAndRpmTheMeanOfTwoPercentiles) {
  const Loaded result = loaded(*phase(50, 60), load({30, 30, 30}), idle(10));
  EXPECT_NEAR(*result.bufferbloat_ms, 40, 0.5);
  EXPECT_NEAR(*result.rpm, 60'000 / ((50 + 30) / 2.0), 20);
  EXPECT_NEAR(*loaded(*phase(50, 60), load({}), idle(10)).rpm, 1200, 20)
      << "a kernel that tells no round trip of its own";
}

TEST(Loaded, OfNothingIsUnknown) {
  const Phase nothing;
  const Loaded result = loaded(nothing, load({}), idle(10));
  EXPECT_FALSE(result.bufferbloat_ms);
  EXPECT_FALSE(result.rpm);
  EXPECT_EQ(judge(idle(10), result), Bloat::Unknown);
  EXPECT_THAT(sentence_of(idle(10), result, "sending"), HasSubstr("not measured"));
}

TEST(Loaded, ALoadThatNeverCameTellsNothing) {
  EXPECT_EQ(judge(idle(1), loaded(*phase(50, 60), {}, idle(1))), Bloat::Unknown);
}

TEST(Judge, WhatTheQueueAdds) {
  const auto judged = [](std::uint64_t idle_ms, std::uint64_t loaded_ms) {
    return judge(idle(idle_ms), loaded(*phase(loaded_ms, loaded_ms), load({}), idle(idle_ms)));
  };
  EXPECT_EQ(judged(1, 2), Bloat::None);
  EXPECT_EQ(judged(100, 110), Bloat::None) << "a tenth of a long way";
  EXPECT_EQ(judged(1, 20), Bloat::Some);
  EXPECT_EQ(judged(10, 100), Bloat::Much);
  const Loaded bloated = loaded(*phase(101, 101), load({}), idle(1));
  EXPECT_THAT(sentence_of(idle(1), bloated, "sending"), HasSubstr("sending 90.0 Mb/s adds"));
}

TEST(Stability, FourAveragesThatAgree) {
  Stability steady;
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(steady.reached()) << i;
    steady.add(100 + i % 2);
  }
  EXPECT_TRUE(steady.reached());
}

TEST(Stability, NotWhileItGrowsNorOfNothing) {
  Stability growing;
  Stability nothing;
  for (int i = 0; i < 20; ++i) {
    growing.add(std::pow(1.3, i));
    nothing.add(0);
    EXPECT_FALSE(growing.reached());
    EXPECT_FALSE(nothing.reached());
  }
}

}  // namespace
}  // namespace chokepoint::probe::latency
