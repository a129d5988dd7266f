#include "analysis/report/timeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kStepMs = 100;
constexpr std::int64_t kSteps = 20;
constexpr double kBusyMs = 60;
constexpr double kMbps = 900;

// Two hosts, and a sends to b for 60 of each step's 100 ms.
class TimelineOfTwo : public testing::Test {
 protected:
  TimelineOfTwo() : made_({.step_ms = kStepMs, .steps = kSteps}) {
    made_.host("a");
    made_.host("b");
    connection_ = made_.connect("a", "b");
    made_.add_traffic(connection_, Direction::AToB, {.busy_ms = kBusyMs, .mbps = kMbps});
    made_.collectives(kBusyMs, {0, 20});
  }

  Timeline timeline(const TimelineLimits& limits = {}) const {
    const Inquiry inquiry = inquire(made_.data);
    return timeline_of(made_.data, inquiry, step_accounts(made_.data, {}, inquiry), limits);
  }

  static const Track* find(const Timeline& timeline, std::string_view group, std::string_view name,
                           std::string_view node = "a") {
    const auto found = std::ranges::find_if(timeline.tracks, [&](const Track& track) {
      return track.group == group && track.name == name && track.node == node;
    });
    return found == timeline.tracks.end() ? nullptr : &*found;
  }

  // Of what is told a second, what the whole run had.
  static double total_of(const Timeline& timeline, const Track& track) {
    const std::vector<std::int64_t>& edges = timeline.axes[track.axis].edges_ns;
    double total = 0;
    for (std::size_t bin = 0; bin < track.values.size(); ++bin) {
      const auto seconds = static_cast<double>(edges[bin + 1] - edges[bin]) / 1e9;
      total += std::isnan(track.values[bin]) ? 0 : track.values[bin] * seconds;
    }
    return total;
  }

  MadeRun made_;
  std::size_t connection_ = 0;
};

TEST_F(TimelineOfTwo, HasOneAxisAndEveryTrackItsLength) {
  const Timeline all = timeline();
  EXPECT_EQ(all.span.length_ns(), made_.span().length_ns());
  for (const Track& track : all.tracks) {
    EXPECT_EQ(track.values.size(), all.axes[track.axis].bins()) << track.group << track.name;
    EXPECT_FALSE(track.source.empty());
  }
  EXPECT_THAT(all.windows, IsEmpty());
}

TEST_F(TimelineOfTwo, AConnectionsThroughputSumsToWhatItCarried) {
  const Timeline all = timeline();
  const Track* track = find(all, "throughput", "payload");
  ASSERT_NE(track, nullptr);
  EXPECT_EQ(track->flow, connection_);
  EXPECT_EQ(track->direction, Direction::AToB);
  const double megabits = kMbps * kBusyMs / 1e3 * static_cast<double>(kSteps);
  EXPECT_THAT(total_of(all, *track), DoubleNear(megabits, megabits / 100));
}

TEST_F(TimelineOfTwo, AHostsThroughputIsItsPacketsElseItsCounter) {
  NodeData& a = made_.node("a");
  made_.counter(a, record::kJobSentBytes, "eth0", 1e6);
  const Timeline by_counter = timeline();
  ASSERT_NE(find(by_counter, "throughput", "sent"), nullptr);
  EXPECT_THAT(find(by_counter, "throughput", "sent")->values, Each(DoubleNear(8, 1e-6)));

  FlowData& flow = a.flows[0];
  flow.row.local_end = 0;
  for (record::FlowSample& sample : flow.packets[0]) {
    sample.bytes = sample.payload_bytes;
  }
  const Timeline by_packets = timeline();
  const double megabits = kMbps * kBusyMs / 1e3 * static_cast<double>(kSteps);
  EXPECT_THAT(total_of(by_packets, *find(by_packets, "throughput", "sent")),
              DoubleNear(megabits, megabits / 100));
}

TEST_F(TimelineOfTwo, CoresAreSharesOfTimeAndTheBusiestCounts) {
  NodeData& a = made_.node("a");
  made_.counter(a, record::kCpuBusy, "cpu0", 0.25e9);
  made_.counter(a, record::kCpuBusy, "cpu1", 0.75e9);
  made_.counter(a, record::kCpuBusy, "all", 1e9);
  a.facts.push_back({.category = "cpu", .key = "online", .value = "4"});
  const Timeline all = timeline();
  EXPECT_THAT(find(all, "cpu", "busiest core")->values, Each(DoubleNear(75, 1e-6)));
  EXPECT_THAT(find(all, "cpu", "all cores")->values, Each(DoubleNear(25, 1e-6)));
  EXPECT_EQ(find(all, "cpu", "busiest core", "b"), nullptr);
  for (const char* none : {"", "0", "-4", "inf", "many"}) {
    a.facts.push_back({.category = "cpu", .key = "online", .value = none});
    EXPECT_EQ(find(timeline(), "cpu", "all cores"), nullptr) << none;
  }
}

TEST_F(TimelineOfTwo, AGpusClockStandsBesideWhatItCouldBe) {
  made_.gauge(made_.node("a"), record::kGpuClock, "0000:3b:00.0", 1200);
  made_.gauge(made_.node("a"), record::kGpuMaxClock, "0000:3b:00.0", 1980);
  const Timeline all = timeline();
  ASSERT_NE(find(all, "gpu-clock", "clock"), nullptr);
  EXPECT_THAT(find(all, "gpu-clock", "clock")->values, Each(1200));
  EXPECT_THAT(find(all, "gpu-clock", "could run at")->values, Each(1980));
}

TEST_F(TimelineOfTwo, WhatNeverHappenedIsNotDrawn) {
  NodeData& a = made_.node("a");
  made_.counter(a, record::kNicReceiveDrops, "eth0", 0);
  EXPECT_EQ(find(timeline(), "drops", "received, dropped"), nullptr);
  made_.counter(a, record::kNicReceiveDrops, "eth1", 3);
  const Timeline all = timeline();
  ASSERT_NE(find(all, "drops", "received, dropped"), nullptr);
  EXPECT_EQ(find(all, "drops", "received, dropped")->subject, "eth1");
}

TEST_F(TimelineOfTwo, LanesTellStepsCollectivesAndWaiting) {
  const Timeline all = timeline();
  const auto lane = [&](const char* node, LaneKind kind) {
    const auto found = std::ranges::find_if(
        all.lanes, [&](const Lane& each) { return each.node == node && each.kind == kind; });
    return found == all.lanes.end() ? Lane() : *found;
  };
  EXPECT_THAT(lane("a", LaneKind::Collectives).entries, SizeIs(kSteps));
  EXPECT_THAT(lane("a", LaneKind::Collectives).names, ElementsAre("all-reduce"));
  EXPECT_EQ(lane("a", LaneKind::Collectives).entries[0].bytes, 1'000'000);
  ASSERT_FALSE(lane("b", LaneKind::Waiting).entries.empty());
  EXPECT_NEAR(static_cast<double>(lane("b", LaneKind::Waiting).entries[3].span.length_ns()), 20e6,
              1e6);
  EXPECT_THAT(lane("a", LaneKind::Waiting).entries, IsEmpty());
  EXPECT_FALSE(all.communicating.empty());
}

// Host b has ranks 1 to 8, of which 5 comes late.
TEST_F(TimelineOfTwo, OfManyRanksThoseThatOthersWaitForHaveLanes) {
  made_.node("a").collectives.clear();
  std::vector<record::Collective>& rows = made_.node("b").collectives;
  const std::vector<record::Collective> late = std::move(rows);
  rows.clear();
  for (std::int64_t rank = 1; rank <= 8; ++rank) {
    for (record::Collective row : late) {
      row.rank = rank;
      row.start_ns -= rank == 5 ? 0 : 20'000'000;
      row.own_ready_ns = row.start_ns;
      rows.push_back(row);
    }
  }
  const Timeline all = timeline({.ranks = 4});
  std::vector<std::pair<LaneKind, std::int64_t>> shown;
  for (const Lane& lane : all.lanes) {
    if (lane.node == "b" && lane.kind != LaneKind::Steps) {
      shown.emplace_back(lane.kind, lane.rank.value_or(-1));
      EXPECT_NEAR(static_cast<double>(lane.all), kSteps, 1) << static_cast<int>(lane.kind);
    }
  }
  EXPECT_THAT(shown,
              ElementsAre(std::pair(LaneKind::Collectives, 1), std::pair(LaneKind::Collectives, 5),
                          std::pair(LaneKind::Waiting, 5)));
  EXPECT_EQ(all.lanes.back().names.front(), "the others wait for rank 5");
  EXPECT_THAT(all.remarks, testing::Contains(HasSubstr("of 9 ranks 3 have lanes")));
}

TEST_F(TimelineOfTwo, ManyCollectivesAreThinnedInWholeStretches) {
  const Timeline all = timeline({.collectives = 16});
  for (const Lane& lane : all.lanes) {
    if (lane.kind == LaneKind::Collectives) {
      EXPECT_EQ(lane.all, kSteps);
      EXPECT_LT(lane.entries.size(), static_cast<std::size_t>(kSteps));
      EXPECT_GT(lane.entries.size(), 0U);
    }
  }
}

TEST_F(TimelineOfTwo, TheWorstStepsAreMoments) {
  const Timeline all = timeline();
  ASSERT_FALSE(all.moments.empty());
  EXPECT_TRUE(all.moments.front().is_evidence);
  EXPECT_THAT(all.moments.front().what, HasSubstr("step "));
}

TEST_F(TimelineOfTwo, EventsAreMomentsAndTheirNumberIsBounded) {
  NodeData& a = made_.node("a");
  for (int event = 0; event < 50; ++event) {
    a.events.push_back({.t_ns = made_.span().start_ns + event,
                        .kind = "interface-down",
                        .subject = "eth0",
                        .detail = "{}"});
  }
  const Timeline all = timeline({.moments = 20});
  const auto events = std::ranges::count(all.moments, false, &Moment::is_evidence);
  EXPECT_EQ(events, 10);
  EXPECT_THAT(all.remarks, testing::Contains(HasSubstr("40 more events")));
}

TEST_F(TimelineOfTwo, AConnectionTooManyHasNoCurveAndThePageSaysSo) {
  made_.connect("a", "b");
  const Timeline all = timeline({.flows = 1});
  EXPECT_THAT(all.remarks, testing::Contains(HasSubstr("of 2 connections the 1")));
}

TEST_F(TimelineOfTwo, ManyCurvesHaveFewerBins) {
  for (NodeData& node : made_.data.nodes) {
    for (int card = 0; card < 40; ++card) {
      made_.counter(node, record::kNicSentBytes, "eth" + std::to_string(card), 1e6);
    }
  }
  const Timeline all = timeline({.node_values = 8000});
  std::size_t values = 0;
  for (const Track& track : all.tracks) {
    values += track.flow ? 0 : track.values.size();
  }
  EXPECT_LE(values, 8000U);
  EXPECT_GT(values, 4000U);
}

TEST_F(TimelineOfTwo, ARecordWithoutItsSessionHasTheSpanOfWhatItHolds) {
  for (NodeData& node : made_.data.nodes) {
    made_.counter(node, record::kNicSentBytes, "eth0", 1);
    node.span = {0, std::numeric_limits<std::int64_t>::max()};
  }
  const Timeline all = timeline();
  EXPECT_LE(all.span.length_ns(), 2 * made_.span().length_ns());
  EXPECT_GT(all.span.length_ns(), 0);
}

TEST_F(TimelineOfTwo, ARecordWithoutItsSessionIsThinnedLikeAnyOther) {
  for (NodeData& node : made_.data.nodes) {
    node.span = {0, std::numeric_limits<std::int64_t>::max()};
  }
  for (const Lane& lane : timeline({.collectives = 16}).lanes) {
    if (lane.kind == LaneKind::Collectives) {
      EXPECT_LT(lane.entries.size(), static_cast<std::size_t>(kSteps));
    }
  }
}

TEST_F(TimelineOfTwo, ARowThatSaysItStandsForNoneStandsForOne) {
  for (NodeData& node : made_.data.nodes) {
    for (record::Step& step : node.steps) {
      step.merged = step.merged > 1 ? step.merged : -3;
    }
  }
  for (const Lane& lane : timeline().lanes) {
    EXPECT_GT(lane.all, 0) << static_cast<int>(lane.kind);
  }
}

TEST(Timeline, OfNothingIsEmpty) {
  const RunData nothing;
  const Timeline timeline = timeline_of(nothing, inquire(nothing), {});
  EXPECT_EQ(timeline.span.length_ns(), 0);
  EXPECT_THAT(timeline.tracks, IsEmpty());
  EXPECT_THAT(timeline.lanes, IsEmpty());
}

StepLine line_of(std::int64_t steps) {
  StepLine line;
  for (std::int64_t step = 0; step < steps; ++step) {
    line.all.push_back({step * 10, step * 10 + 10});
  }
  line.settled.assign(line.all.begin() + 3, line.all.end());
  return line;
}

TEST(ShownSteps, AreAllOfThemOrSeveralAtATime) {
  EXPECT_THAT(shown_steps(line_of(7), 7).steps, SizeIs(7));
  const ShownSteps shown = shown_steps(line_of(7), 3);
  ASSERT_THAT(shown.steps, SizeIs(3));
  EXPECT_EQ(shown.steps[0].count, 3);
  EXPECT_EQ(shown.steps[2].count, 1);
  EXPECT_EQ(shown.all, 7);
  EXPECT_FALSE(shown.steps[0].is_settled);
  EXPECT_TRUE(shown.steps[1].is_settled);
}

TEST(JoinedSpans, HideTheShortestPauses) {
  const auto starts = [](const std::vector<Span>& spans) {
    std::vector<std::int64_t> list;
    std::ranges::transform(spans, std::back_inserter(list), &Span::start_ns);
    return list;
  };
  const std::vector<Span> spans = {{0, 10}, {11, 20}, {50, 60}, {62, 70}, {100, 110}};
  EXPECT_THAT(starts(joined(spans, 5)), ElementsAre(0, 11, 50, 62, 100));
  const std::vector<Span> three = joined(spans, 3);
  EXPECT_THAT(starts(three), ElementsAre(0, 50, 100));
  EXPECT_EQ(three[0].end_ns, 20);
  EXPECT_EQ(three[1].end_ns, 70);
  EXPECT_THAT(joined({}, 3), IsEmpty());
}

TEST(StepBars, AreMeansWhereStepsAreMany) {
  const StepLine line = line_of(8);
  std::vector<StepAccounts> accounts;
  for (std::size_t step = 0; step < line.settled.size(); ++step) {
    accounts.push_back({.span = line.settled[step]});
    accounts.back().accounting[Account::Link] = static_cast<double>(step);
  }
  const std::vector<StepBar> each = step_bars(accounts, line, 100);
  ASSERT_THAT(each, SizeIs(5));
  EXPECT_EQ(each[0].number, 4);
  EXPECT_EQ(each[4].accounting[Account::Link], 4);
  const std::vector<StepBar> bars = step_bars(accounts, line, 2);
  ASSERT_THAT(bars, SizeIs(2));
  EXPECT_EQ(bars[0].count, 3);
  EXPECT_EQ(bars[1].count, 2);
  EXPECT_EQ(bars[0].accounting[Account::Link], 1);
  EXPECT_EQ(bars[1].number, 7);
  EXPECT_THAT(step_bars({}, line, 2), IsEmpty());
}

std::vector<std::int64_t> lengths_of(const TimeAxis& axis) {
  std::vector<std::int64_t> lengths;
  for (std::size_t bin = 0; bin < axis.bins(); ++bin) {
    lengths.push_back(axis.edges_ns[bin + 1] - axis.edges_ns[bin]);
  }
  return lengths;
}

TEST(TimeAxis, IsEvenWhereAllWasRead) {
  EXPECT_THAT(time_axis({0, 100}, {}, 4, 1).edges_ns, ElementsAre(0, 25, 50, 75, 100));
  EXPECT_THAT(time_axis({-7, 3}, {}, 3, 1).edges_ns, ElementsAre(-7, -3, 1, 3));
}

TEST(TimeAxis, HasNoBinShorterThanWhatIsMeasured) {
  EXPECT_THAT(time_axis({0, 100}, {}, 1000, 40).edges_ns, ElementsAre(0, 40, 80, 100));
}

TEST(TimeAxis, IsFineInsideOfWindows) {
  const std::vector<Span> windows = {{400, 440}, {800, 840}};
  const TimeAxis axis = time_axis({0, 1000}, windows, 20, 1);
  EXPECT_THAT(lengths_of(axis), ElementsAre(100, 100, 100, 100, 8, 8, 8, 8, 8, 60, 100, 100, 100, 8,
                                            8, 8, 8, 8, 60, 100));
}

TEST(TimeAxis, KnowsWindowsThatReachBeyondTheRun) {
  const std::vector<Span> windows = {{-50, 10}, {90, 200}};
  const TimeAxis axis = time_axis({0, 100}, windows, 8, 1);
  EXPECT_EQ(axis.edges_ns.front(), 0);
  EXPECT_EQ(axis.edges_ns.back(), 100);
  EXPECT_TRUE(std::ranges::is_sorted(axis.edges_ns, std::ranges::less_equal()));
}

TEST(TimeAxis, OfNoTimeHasNoBins) {
  EXPECT_THAT(time_axis({5, 5}, {}, 10, 1).edges_ns, IsEmpty());
  EXPECT_EQ(TimeAxis{}.bins(), 0U);
}

}  // namespace
}  // namespace chokepoint::analysis
