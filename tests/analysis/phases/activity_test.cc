#include "analysis/phases/activity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

record::SocketSample busy(double at_ms, double busy_ms, std::int64_t acked = 0) {
  record::SocketSample sample{.t_ns = ms_ns(at_ms)};
  sample.busy_us = static_cast<std::int64_t>(busy_ms * 1000);
  sample.bytes_acked = acked;
  return sample;
}

record::FlowSample moved(double at_ms, double bin_ms, std::int64_t payload_bytes) {
  record::FlowSample sample{.t_ns = ms_ns(at_ms), .bin_ns = ms_ns(bin_ms)};
  sample.payload_bytes = payload_bytes;
  return sample;
}

class OfActivity : public testing::Test {
 protected:
  std::vector<record::SocketSample>& sockets(std::size_t node, std::size_t side) {
    return run.flow(node, flow).sockets.at(side);
  }
  std::vector<record::FlowSample>& packets(std::size_t node, std::size_t side) {
    return run.flow(node, flow).packets.at(side);
  }
  Activity activity() const { return activity_of(run.data, run.clocks); }

  TimelineRun run{2};
  std::int64_t flow = run.connect(0, 1);
};

TEST_F(OfActivity, IsNoneWhereNothingWasSeen) {
  EXPECT_EQ(activity().source, PhaseSource::None);
  EXPECT_TRUE(activity().spans.empty());
}

//   readings   │ 0 ······ │ 4 ms ··│ 4 ms ··│
//   taken             ├───┤
TEST_F(OfActivity, TakesTheLaterPartOfTheTimeBetweenReadings) {
  sockets(0, 0) = {busy(0, 0), busy(10, 4), busy(20, 4)};
  const Activity activity = this->activity();
  EXPECT_EQ(activity.source, PhaseSource::Sockets);
  ASSERT_EQ(activity.spans.size(), 1U);
  EXPECT_EQ(activity.spans[0].start_ns, ms_ns(6));
  EXPECT_EQ(activity.spans[0].end_ns, ms_ns(10));
}

TEST_F(OfActivity, JoinsWhatBothEndsSentOnOneClock) {
  run.clocks.nodes[1].to_common = ClockMap({{0, -ms_ns(1000)}});
  sockets(0, 0) = {busy(0, 0), busy(10, 10)};
  sockets(1, 1) = {busy(1005, 0), busy(1020, 15)};
  const Activity activity = this->activity();
  ASSERT_EQ(activity.spans.size(), 1U);
  EXPECT_EQ(activity.spans[0].length_ns(), ms_ns(20));
}

TEST_F(OfActivity, IsNoLongerThanTheTimeBetweenReadings) {
  sockets(0, 0) = {busy(0, 0), busy(10, 5000)};
  EXPECT_EQ(length_ns(activity().spans), ms_ns(10));
}

TEST_F(OfActivity, IsNothingWhereAStopwatchWentBackOrIsUnknown) {
  sockets(0, 0) = {busy(0, 100), busy(10, 0), record::SocketSample{.t_ns = ms_ns(20)}, busy(30, 8),
                   busy(25, 12)};
  EXPECT_TRUE(activity().spans.empty());
}

TEST_F(OfActivity, TakesPacketsWhereThereAreNoSockets) {
  packets(0, 0) = {moved(10, 10, 1'000'000), moved(20, 10, 66), moved(30, 10, 1'000'000)};
  const Activity activity = this->activity();
  EXPECT_EQ(activity.source, PhaseSource::Packets);
  ASSERT_EQ(activity.spans.size(), 2U);  // chatter is none
  EXPECT_EQ(activity.spans[0].start_ns, 0);
  EXPECT_EQ(activity.spans[1].end_ns, ms_ns(30));
}

TEST_F(OfActivity, PrefersSocketsToPackets) {
  sockets(0, 0) = {busy(0, 0), busy(10, 4)};
  packets(0, 0) = {moved(1000, 1000, 1'000'000)};
  EXPECT_EQ(activity().source, PhaseSource::Sockets);
  EXPECT_EQ(length_ns(activity().spans), ms_ns(4));
}

class OfSenders : public OfActivity {
 protected:
  SenderActivity senders(std::size_t node) const {
    return senders_of(run.data, run.clocks, node, -1);
  }
};

TEST_F(OfSenders, AreOfOneNodeAndWhatItSentItself) {
  sockets(0, 0) = {busy(0, 0), busy(10, 10)};
  sockets(1, 1) = {busy(100, 0), busy(120, 20)};
  EXPECT_EQ(length_ns(senders(0).busy), ms_ns(10));
  EXPECT_EQ(length_ns(senders(1).busy), ms_ns(20));
  EXPECT_EQ(senders(1).busy.front().start_ns, ms_ns(100));
}

TEST_F(OfSenders, AreBusyLessTheWayOfTheLastAnswer) {
  sockets(0, 0) = {busy(0, 0), busy(10, 10)};
  for (record::SocketSample& sample : sockets(0, 0)) {
    sample.min_rtt_us = 4000;
  }
  EXPECT_EQ(length_ns(senders(0).busy), ms_ns(6));
}

// A stopwatch that runs while nothing is acknowledged, however often it is read meanwhile.
TEST_F(OfSenders, AreStalledWhereNothingComesThrough) {
  std::vector<record::SocketSample>& samples = sockets(0, 0);
  samples = {busy(0, 0, 0), busy(50, 50, 1000)};
  for (int reading = 1; reading <= 30; ++reading) {
    samples.push_back(busy(50 + reading * 20, 50 + reading * 20, 1000));
  }
  samples.push_back(busy(700, 700, 5000));
  const SenderActivity activity = senders(0);
  ASSERT_EQ(activity.stalled.size(), 1U);
  EXPECT_NEAR(static_cast<double>(length_ns(activity.stalled)), 600e6, 60e6);
}

TEST_F(OfSenders, AreNotStalledBeforeThereWasAnythingToSend) {
  sockets(0, 0) = {busy(0, 0, 0), busy(50, 50, 1000), busy(350, 50, 1000), busy(650, 350, 1000)};
  const SenderActivity activity = senders(0);
  ASSERT_EQ(activity.stalled.size(), 1U);
  EXPECT_EQ(activity.stalled.front().start_ns, ms_ns(350));
}

TEST_F(OfSenders, AreNotStalledWhileDataMovesOrNobodySends) {
  for (int reading = 0; reading <= 30; ++reading) {
    sockets(0, 0).push_back(busy(reading * 20, reading * 20, reading * 1000));
    sockets(1, 1).push_back(busy(reading * 20, 5, 1000));
  }
  EXPECT_TRUE(senders(0).stalled.empty());
  EXPECT_TRUE(senders(1).stalled.empty());
}

using testing::ElementsAre;
using testing::IsEmpty;

// A bin of 10 ms that ends then: of its packets some had been sent before.
record::FlowSample bin(double end_ms, std::int64_t packets, std::int64_t again = 0) {
  return {.t_ns = ms_ns(end_ms),
          .bin_ns = ms_ns(10),
          .packets = packets,
          .payload_bytes = packets * 1024,
          .retransmitted_packets = again,
          .retransmitted_bytes = again * 1024,
          .out_of_order = 0};
}

MATCHER_P2(IsSpan, from_ms, to_ms, "") {
  return arg.start_ns == ms_ns(from_ms) && arg.end_ns == ms_ns(to_ms);
}

// A link that is cut, captured at one end: only what that end sends again is seen. Both ends stood.
//
//   from 0  ██         ▒    ▒       ██
//   from 1   █                       █
class CapturedSenders : public OfSenders {
 protected:
  CapturedSenders() {
    run.data.nodes[0].is_capture = true;
    packets(0, 0) = {bin(10, 20), bin(20, 20), bin(300, 2, 2), bin(700, 2, 2), bin(910, 20)};
    packets(0, 1) = {bin(30, 10), bin(920, 10)};
  }
};

TEST_F(CapturedSenders, StandStillWhileNothingButRetransmissionsPass) {
  EXPECT_THAT(senders(0).stalled, ElementsAre(IsSpan(30, 900)));
  EXPECT_THAT(senders(1).busy, ElementsAre(IsSpan(30, 900)));
}

TEST_F(CapturedSenders, ComputeWhileNothingPasses) {
  packets(0, 0) = {bin(10, 20), bin(20, 20), bin(910, 20)};
  EXPECT_TRUE(senders(0).stalled.empty());
  EXPECT_TRUE(senders(1).busy.empty());
}

TEST(Waits, EndWithWhatWasSentBefore) {
  EXPECT_THAT(waits_of({bin(10, 100), bin(80, 50, 40), bin(90, 100)}), ElementsAre(IsSpan(10, 70)));
}

TEST(Waits, SilenceBeforeNewDataIsComputing) {
  EXPECT_THAT(waits_of({bin(10, 100), bin(80, 50, 10), bin(200, 50)}), IsEmpty());
}

TEST(Waits, WhatFillsAGapHadBeenSentBefore) {
  record::FlowSample filling = bin(80, 4);
  filling.out_of_order = 3;
  EXPECT_THAT(waits_of({bin(10, 100), filling}), ElementsAre(IsSpan(10, 70)));
}

TEST(Waits, AcknowledgementsDoNotEndThem) {
  EXPECT_THAT(
      waits_of(
          {bin(10, 100), {.t_ns = ms_ns(40), .bin_ns = ms_ns(10), .packets = 3}, bin(80, 50, 50)}),
      ElementsAre(IsSpan(10, 70)));
}

TEST(Waits, NeedTheirBeginning) {
  EXPECT_THAT(waits_of({bin(80, 50, 50)}), IsEmpty());
  EXPECT_THAT(waits_of({bin(10, 50), bin(20, 50, 50)}), IsEmpty()) << "no silence between";
}

class OfRoce : public testing::Test {
 protected:
  OfRoce() {
    for (const std::size_t node : {0U, 1U}) {
      run.flow(node, flow).row.protocol = "roce";
    }
  }
  TimelineRun run{2};
  std::int64_t flow = run.connect(0, 1);
};

TEST_F(OfRoce, WaitsAreActivityAndOneEndTells) {
  run.flow(0, flow).packets[0] = {bin(10, 100), bin(80, 50, 40)};
  run.flow(1, flow).packets[0] = {bin(510, 100)};
  const Activity activity = activity_of(run.data, run.clocks);
  EXPECT_EQ(activity.source, PhaseSource::Packets);
  EXPECT_THAT(activity.spans, ElementsAre(IsSpan(0, 80)));
}

TEST_F(OfRoce, TheOtherEndTellsWhereTheFirstSawNothing) {
  run.flow(1, flow).packets[0] = {bin(10, 100)};
  EXPECT_THAT(activity_of(run.data, run.clocks).spans, ElementsAre(IsSpan(0, 10)));
}

}  // namespace

}  // namespace chokepoint::analysis
