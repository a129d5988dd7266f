#include "analysis/limits/limit_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/timeline/spans.h"
#include "base/record/row.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

// Steps of 100 ms, in the last 60 of which hosts exchange.
class LimitTimelineTest : public testing::Test {
 protected:
  LimitTimelineTest() {
    made_.host("a");
    made_.host("b");
    ab_ = made_.connect("a", "b");
  }
  Spans communicating(double from_ms = 40) const {
    Spans spans;
    for (const record::Step& step : made_.data.nodes[0].steps) {
      spans.push_back({step.start_ns + static_cast<std::int64_t>(from_ms * 1e6), step.end_ns});
    }
    return spans;
  }
  LimitTimeline limit_timeline(const Spans& spans) const {
    const Clocks clocks = fit_clocks(made_.data);
    return limit_timeline_of(made_.data, clocks, spans);
  }
  static double held(const LimitTimeline& limit_timeline) {
    double ns = 0;
    for (const DirectionLimits& direction : limit_timeline.directions) {
      ns += direction.held.sum();
    }
    return ns;
  }

  MadeRun made_;
  std::size_t ab_ = 0;
};

TEST_F(LimitTimelineTest, TheOneDirectionIsBlamedForAll) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  const LimitTimeline found = limit_timeline(communicating());
  ASSERT_EQ(found.directions.size(), 2U);
  EXPECT_NEAR(found.directions[0].held[Limit::LinkFull], 20 * 60e6, 1e6);
  EXPECT_NEAR(found.directions[0].busy.sum(), 20 * 60e6, 1e6);
  EXPECT_DOUBLE_EQ(found.directions[1].held.sum(), 0);
  EXPECT_NEAR(found.idle_ns, 0, 1e6);
}

// A record may say any time: what it takes to judge it follows from its rows.
TEST_F(LimitTimelineTest, AReadingOfAMillionYearsIsCheap) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  constexpr std::int64_t kLate = record::kMostNs / 2;
  for (FlowData& flow : made_.data.nodes[0].flows) {
    for (auto& readings : flow.sockets) {
      if (!readings.empty()) {
        readings.back().t_ns = kLate;
      }
    }
  }
  const LimitTimeline found = limit_timeline({{0, kLate}});
  EXPECT_LT(found.moments.size(), 200'000U);
  EXPECT_GT(held(found), 0);
}

// Two ranks of a host talk over loopback all the time.
TEST_F(LimitTimelineTest, LoopbackHoldsNoWireBack) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  const std::size_t within = made_.connect("a", "b");
  made_.add_traffic(within, Direction::AToB, {.busy_ms = 100});
  Connection& loopback = made_.data.connections[within];
  loopback.ends[1] = loopback.ends[0];
  const LimitTimeline found = limit_timeline(communicating(0));
  for (const DirectionLimits& direction : found.directions) {
    const bool is_loopback = direction.view.connection == within;
    EXPECT_EQ(direction.held.sum() > 0,
              !is_loopback && direction.view.direction == Direction::AToB);
  }
}

TEST_F(LimitTimelineTest, TheBusiestHoldsTheOthersBack) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  made_.add_traffic(ab_, Direction::BToA, {.busy_ms = 20, .like = {.mss_bytes = 1448}});
  const LimitTimeline found = limit_timeline(communicating());
  EXPECT_GE(found.directions[0].held.sum(), 40 * 20e6 - 1);
  EXPECT_LE(found.directions[1].held.sum(), 20 * 20e6);
  EXPECT_NEAR(found.directions[1].busy.sum(), 20 * 20e6, 1e6);
  EXPECT_NEAR(held(found), 20 * 60e6, 1e6);
}

TEST_F(LimitTimelineTest, BothWaysAlikeAreNotCountedTwice) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  made_.add_traffic(ab_, Direction::BToA, full_link());
  const LimitTimeline found = limit_timeline(communicating());
  EXPECT_NEAR(held(found), 20 * 60e6, 1e6);
  for (const DirectionLimits& direction : found.directions) {
    EXPECT_NEAR(direction.busy.sum(), 20 * 60e6, 1e6);
  }
}

TEST_F(LimitTimelineTest, OutsideOfCommunicationNothingCounts) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  const LimitTimeline found = limit_timeline(communicating(80));
  EXPECT_NEAR(found.directions[0].busy.sum(), 20 * 20e6, 1e6);
  EXPECT_NEAR(held(found), 20 * 20e6, 1e6);
  EXPECT_DOUBLE_EQ(held(limit_timeline({})), 0);
}

TEST_F(LimitTimelineTest, WhatNobodyHadUnderWayIsIdle) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  const Spans whole = communicating(0);
  const LimitTimeline found = limit_timeline(whole);
  EXPECT_NEAR(found.idle_ns, 20 * 40e6, 2e6);
  EXPECT_NEAR(held(found) + found.idle_ns, static_cast<double>(length_ns(whole)), 1e3);
}

TEST_F(LimitTimelineTest, PacketsOfTheReceiverTellWhereTheSenderLeftNoRecord) {
  MadeTraffic way = full_link();
  made_.add_traffic(ab_, Direction::AToB, way);
  made_.lose("a");
  const Clocks clocks = fit_clocks(made_.data);
  Spans spans;
  for (const record::Step& step : made_.data.nodes[0].steps) {
    spans.push_back({step.start_ns + 40'000'000, step.end_ns});
  }
  const LimitTimeline found = limit_timeline_of(made_.data, clocks, spans);
  ASSERT_EQ(found.directions.size(), 2U);
  EXPECT_NEAR(found.directions[0].held[Limit::LinkFull], 20 * 60e6, 1e6);
}

// Only the receiver's host was captured: it answers at once, and its own data make the round trip.
class CapturedReceiver : public LimitTimelineTest {
 protected:
  static constexpr std::int64_t kUnloadedUs = 10'100;

  // Whether the link is what holds back what comes to it.
  bool is_link_full(std::int64_t rtt_us, std::int64_t in_flight_bytes) {
    made_.lose("a");
    const auto& place = made_.data.connections[ab_].ends[1];
    FlowData& flow = made_.data.nodes[place->node].flows[place->flow];
    for (std::int64_t bin = 1; bin <= 200; ++bin) {
      const record::FlowSample come{.t_ns = bin * 10'000'000,
                                    .bin_ns = 10'000'000,
                                    .payload_bytes = bin % 2 == 0 ? 900'000 : 500'000,
                                    .rtt_us = 80,
                                    .min_rtt_us = 60};
      const record::FlowSample left{.t_ns = bin * 10'000'000,
                                    .bin_ns = 10'000'000,
                                    .payload_bytes = in_flight_bytes,
                                    .rtt_us = bin == 1 ? kUnloadedUs : rtt_us,
                                    .min_rtt_us = bin == 1 ? kUnloadedUs : rtt_us,
                                    .max_in_flight_bytes = in_flight_bytes};
      flow.packets[0].push_back(come);
      flow.packets[1].push_back(left);
    }
    const Spans spans{{0, 2'000'000'000}};
    const LimitTimeline found = limit_timeline(spans);
    const LimitTimes& busy = found.directions.at(0).busy;
    return busy[Limit::LinkFull] > busy.sum() / 2;
  }
};

TEST_F(CapturedReceiver, DoesNotTakeItsOwnAnswersForTheUnloadedRoundTrip) {
  EXPECT_FALSE(is_link_full(kUnloadedUs + 200, 200'000));
}

TEST_F(CapturedReceiver, SeesTheQueueBeforeItAlsoByTheLittleThatItSends) {
  EXPECT_TRUE(is_link_full(4 * kUnloadedUs, 1'000));
}

TEST_F(LimitTimelineTest, ASumNeverExceedsTheCommunication) {
  // Four connections with different limits, which overlap in every way.
  for (const double busy_ms : {100.0, 75.0, 50.0, 5.0}) {
    const std::size_t more = made_.connect("a", "b");
    MadeTraffic way = full_link();
    way.busy_ms = busy_ms;
    made_.add_traffic(more, Direction::AToB, way);
    made_.add_traffic(more, Direction::BToA, {.busy_ms = busy_ms / 2, .receive_window = 0.5});
  }
  for (const double from_ms : {0.0, 13.0, 40.0, 77.7}) {
    const Spans spans = communicating(from_ms);
    const LimitTimeline found = limit_timeline(spans);
    const auto all = static_cast<double>(length_ns(spans));
    EXPECT_LE(held(found), all * (1 + 1e-9));
    EXPECT_NEAR(held(found) + found.idle_ns, all, 1e-6 * all);
    for (const DirectionLimits& direction : found.directions) {
      EXPECT_LE(direction.held.sum(), direction.busy.sum() * (1 + 1e-9));
      EXPECT_LE(direction.busy.sum(), all * (1 + 1e-9));
    }
  }
}

TEST_F(LimitTimelineTest, NothingIsBlamedForNothing) {
  const LimitTimeline found = limit_timeline(communicating());
  EXPECT_DOUBLE_EQ(held(found), 0);
  EXPECT_NEAR(found.idle_ns, 20 * 60e6, 1);
  EXPECT_TRUE(limit_timeline_of({}, {}, {}).directions.empty());
}

using record::FlowSample;

constexpr std::int64_t kBinNs = 10'000'000;

// What one bin of packets says, at an unloaded round trip of 0.1 ms.
std::optional<Limit> limit(FlowSample sample) {
  sample.t_ns = 5 * kBinNs;
  sample.bin_ns = kBinNs;
  if (!sample.payload_bytes.known()) {
    sample.payload_bytes = 1'000'000;
  }
  const auto spans = limits_of_packets({sample}, {.min_rtt_us = 100});
  if (spans.empty()) {
    return std::nullopt;
  }
  EXPECT_EQ(spans[0].span.start_ns, 4 * kBinNs);
  EXPECT_EQ(spans[0].span.end_ns, 5 * kBinNs);
  const auto& ns = spans[0].times.ns;
  EXPECT_DOUBLE_EQ(spans[0].times.sum(), kBinNs);
  return Limit(std::ranges::max_element(ns) - ns.begin());
}

TEST(LimitsOfPackets, TellWhatTheyCan) {
  EXPECT_EQ(limit({.rtt_us = 40'000, .max_in_flight_bytes = 900'000}), Limit::LinkFull);
  EXPECT_EQ(limit({.retransmitted_packets = 3, .rtt_us = 110, .max_in_flight_bytes = 90'000}),
            Limit::Loss);
  EXPECT_EQ(limit({.window_full = 2, .rtt_us = 110}), Limit::ReceiveWindow);
  EXPECT_EQ(limit({.rtt_us = 110, .max_in_flight_bytes = 64'000, .window_bytes = 65'535}),
            Limit::ReceiveWindow);
  EXPECT_EQ(limit({.rtt_us = 110, .max_in_flight_bytes = 500'000, .window_bytes = 4'000'000}),
            Limit::LibraryCredit);
  EXPECT_EQ(limit({.rtt_us = 110, .max_in_flight_bytes = 1'000}), Limit::RoundTrip);
}

TEST(LimitsOfPackets, ARoundTripThatIsAlwaysLongIsNoQueue) {
  const FlowSample sample{.t_ns = kBinNs,
                          .bin_ns = kBinNs,
                          .payload_bytes = 1'000'000,
                          .rtt_us = 40'000,
                          .min_rtt_us = 39'000,
                          .max_in_flight_bytes = 900'000};
  EXPECT_DOUBLE_EQ(limits_of_packets({sample}, {})[0].times[Limit::LibraryCredit], kBinNs);
  EXPECT_DOUBLE_EQ(limits_of_packets({sample}, {.min_rtt_us = 39'000})[0].times[Limit::LinkFull],
                   0);
}

TEST(LimitsOfPackets, ALateAcknowledgementOfTwoPacketsIsNoQueue) {
  EXPECT_EQ(limit({.payload_bytes = 2'896, .rtt_us = 40'000, .max_in_flight_bytes = 2'896}),
            Limit::RoundTrip);
  EXPECT_EQ(limit({.payload_bytes = 5'792, .rtt_us = 40'000, .max_in_flight_bytes = 5'792}),
            Limit::LinkFull);
}

TEST(LimitsOfPackets, KeepAlivesAndEmptyBinsAreNothingUnderWay) {
  EXPECT_EQ(limit({.payload_bytes = 20}), std::nullopt);
  EXPECT_EQ(limit({.payload_bytes = 0, .rtt_us = 40'000}), std::nullopt);
  EXPECT_TRUE(limits_of_packets({}, {}).empty());
  EXPECT_TRUE(limits_of_packets({FlowSample{}}, {}).empty());
}

}  // namespace

}  // namespace chokepoint::analysis
