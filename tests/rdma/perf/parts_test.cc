// The plan's arithmetic, over plan.cc, loops.cc and test.cc.
#include <gmock/gmock.h>

#include "rdma/perf/loops.h"
#include "rdma/perf/plan.h"
#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {
namespace {

using verbs::Operation;
using verbs::Transport;

TEST(Layout, OneMessageOfEachQueuePairIsEnoughWithoutCheck) {
  const Layout layout = layout_of({.message_bytes = 65536, .queue_pairs = 3});
  EXPECT_EQ(layout.sources.places, 1U);
  EXPECT_EQ(layout.bytes, 2 * 3 * 65536U);
  EXPECT_EQ(layout.ring, 1U);
}

TEST(Layout, SmallMessagesGoRoundAPage) {
  const Layout layout = layout_of({.message_bytes = 64});
  EXPECT_EQ(layout.sources.places, 64U);
  EXPECT_EQ(layout.sources.at(0, 65), layout.sources.at(0, 1));
}

TEST(Layout, ARingTakesWholeLists) {
  const Layout layout =
      layout_of({.message_bytes = 1024, .depth = 100, .moderation = 10, .post_list = 7});
  EXPECT_EQ(layout.ring % 7, 0U);
  EXPECT_EQ(layout.group, 14U);
}

TEST(Layout, ModerationNeverAsksForMoreThanTheDepth) {
  EXPECT_EQ(layout_of({.depth = 16, .moderation = 100}).group, 16U);
  EXPECT_EQ(layout_of({.depth = 16, .moderation = 100, .post_list = 5}).group, 15U);
}

TEST(Layout, AtALowRateGroupsAreSmall) {
  Plan plan{.message_bytes = 1000, .queue_pairs = 2, .moderation = 100, .rate_bits_per_s = 1e6};
  EXPECT_EQ(layout_of(plan).group, 1U);
  plan.post_list = 8;
  EXPECT_EQ(layout_of(plan).group, 8U);
  plan.rate_bits_per_s = 0.32e9;  // 20 a millisecond on each
  EXPECT_EQ(layout_of(plan).group, 16U);
  plan.rate_bits_per_s = 1e15;
  EXPECT_EQ(layout_of(plan).group, 104U);
}

TEST(Layout, WithCheckEachMessageUnderWayHasItsOwnPlace) {
  const Plan plan{.operation = Operation::WriteImmediate,
                  .message_bytes = 4096,
                  .depth = 32,
                  .receive_depth = 64,
                  .check = true};
  const Layout layout = layout_of(plan);
  EXPECT_EQ(layout.targets.places, 96U);
  EXPECT_EQ(layout.bytes, 2 * 96 * 4096U);
}

TEST(Layout, WithCheckTheDepthGivesWayToMemory) {
  const Plan plan{.message_bytes = 8 << 20, .depth = 128, .check = true};
  EXPECT_EQ(send_depth(plan), 4);
  EXPECT_EQ(bytes_needed(plan), 2 * 4 * (std::uint64_t{8} << 20));
}

TEST(Layout, DatagramsArriveBehindTheirHeader) {
  const Layout layout =
      layout_of({.operation = Operation::Send, .transport = Transport::Ud, .message_bytes = 4096});
  EXPECT_EQ(layout.header_bytes, 40U);
  EXPECT_EQ(layout.receives.stride, 8192U);
}

TEST(Layout, AreasDoNotOverlap) {
  const Layout layout =
      layout_of({.operation = Operation::Send, .message_bytes = 100, .queue_pairs = 5});
  const auto end = [&](const Area& area) { return area.at(4, area.places - 1) + area.stride; };
  EXPECT_LE(end(layout.sources), layout.targets.offset);
  EXPECT_LE(end(layout.targets), layout.receives.offset);
  EXPECT_LE(end(layout.receives), layout.bytes);
}

TEST(Pace, AllowsWhatTheRateGives) {
  Pace pace(8e6, 1000, 1);  // a message each millisecond
  pace.begin(0);
  EXPECT_EQ(pace.allowed(10 * kMillisecond, 0), 11U);
  EXPECT_EQ(pace.allowed(20 * kMillisecond, 11), 21U);
}

TEST(Pace, MakesUpForNoMoreThanAMoment) {
  Pace pace(8e6, 1000, 1);
  pace.begin(0);
  EXPECT_EQ(pace.allowed(1000 * kMillisecond, 0), 50U);
}

TEST(Pace, SharesTheRateAmongQueuePairs) {
  Pace pace(8e6, 1000, 4);
  pace.begin(0);
  EXPECT_EQ(pace.allowed(20 * kMillisecond, 0), 6U);
}

TEST(Pace, WithoutARateThereIsNoLimit) {
  Pace pace({}, 1000, 1);
  pace.begin(0);
  EXPECT_EQ(pace.allowed(1, 0), UINT64_MAX);
}

TEST(Meter, AverageIsFromFirstToLast) {
  Meter meter;
  meter.begin(0);
  meter.sample(8'000'000, 10);
  meter.sample(9'000'000, 10);  // nothing came
  Outcome outcome;
  meter.fill(outcome, 1000);
  EXPECT_EQ(outcome.duration_ns, 8'000'000);
  EXPECT_DOUBLE_EQ(*outcome.average_mbps, 10.0);
  EXPECT_DOUBLE_EQ(*outcome.messages_per_s, 1250.0);
  EXPECT_DOUBLE_EQ(*outcome.peak_mbps, 10.0);
}

TEST(Meter, PeakIsTheFastestStretch) {
  Meter meter;
  meter.begin(0);
  meter.sample(10'000'000, 20);
  meter.sample(20'000'000, 60);
  meter.sample(30'000'000, 80);
  Outcome outcome;
  meter.fill(outcome, 1000);
  EXPECT_DOUBLE_EQ(*outcome.peak_mbps, 32.0);
}

TEST(Meter, APeakIsNoBurstOfManyQueuePairs) {
  Meter meter(800);
  meter.begin(0);
  std::uint64_t messages = 0;
  for (std::int64_t burst = 1; burst <= 100; ++burst) {  // every 80 ms, in two parts
    const std::uint64_t first = burst % 2 == 0 ? 100 : 700;
    meter.sample(80 * kMillisecond * burst, messages += first);
    meter.sample(80 * kMillisecond * burst + kMillisecond, messages += 800 - first);
  }
  Outcome outcome;
  meter.fill(outcome, 1000);
  EXPECT_GE(*outcome.peak_mbps, 80.0);
  EXPECT_LE(*outcome.peak_mbps, 80.0 * 17 / 16);
}

TEST(Meter, WithoutAMessageThereIsNoRate) {
  Meter meter;
  meter.begin(5);
  Outcome outcome;
  meter.fill(outcome, 1000);
  EXPECT_EQ(outcome.average_mbps, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::rdma::perf
