#include "analysis/timeline/clocks.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/analysis/timeline/true_clocks.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kHour = 3'600'000'000'000;

// Two nodes; the second's clock is an hour off, and 50 ppm fast.
class TwoClocks : public testing::Test {
 protected:
  void begin(double seconds, TrueClock second = wrong_clock(kHour, 50)) {
    run = std::make_unique<TrueRun>(seconds);
    a = run->node("a", wrong_clock(0, 0));
    b = run->node("b", std::move(second));
    ab = run->connect(a, b);
  }
  // An all-reduce every 150 ms, to which each comes late by chance; b counts on from `first`.
  void collectives(std::int64_t first = 0) {
    std::exponential_distribution<double> late(1 / 5e6);
    std::exponential_distribution<double> jitter(1 / 30e3);
    const TrueClock clock_b = wrong_clock(kHour, 50);
    for (std::int64_t number = 0; number < 200; ++number) {
      const double came_a = static_cast<double>(number) * 150e6 + late(run->random);
      const double came_b = static_cast<double>(number) * 150e6 + late(run->random);
      const double seen_a = came_b + 80e3 + jitter(run->random);
      const double seen_b = came_a + 80e3 + jitter(run->random);
      add_collective(a, number, std::llround(came_a), std::llround(seen_a));
      add_collective(b, number + first, clock_b(came_b), clock_b(seen_b));
    }
  }
  void add_collective(std::size_t node, std::int64_t number, std::int64_t own, std::int64_t peer) {
    record::Collective row{.number = number, .kind = record::CollectiveKind::AllReduce};
    row.communicator = 0;
    row.own_ready_ns = own;
    row.peer_ready_ns = peer;
    row.flow = 1;
    run->data.nodes[node].collectives.push_back(row);
  }
  const NodeClock& fitted() {
    clocks = fit_clocks(run->data);
    return clocks.nodes[b];
  }
  double worst_us() const { return run->worst_us(clocks, b); }

  std::unique_ptr<TrueRun> run;
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t ab = 0;
  Clocks clocks;
};

TEST_F(TwoClocks, AreOneOnAQuickLink) {
  begin(10);
  run->add_traffic(ab, {.per_s = 15});
  const NodeClock& clock = fitted();
  EXPECT_EQ(clock.source, ClockSource::Marks);
  EXPECT_LT(worst_us(), 20);
  EXPECT_NEAR(clock.drift_ppm, 50, 4);
  EXPECT_NEAR(static_cast<double>(clock.offset_ns - kHour), 0, 20e3);
  EXPECT_NEAR(*clock.error_ns, 50e3, 20e3);
  EXPECT_LT(*clock.noise_ns, 20e3);
}

TEST_F(TwoClocks, AreOneOverALongWay) {
  begin(60, wrong_clock(-kHour, -200));
  run->add_traffic(ab, {.to_s = 60, .there_us = 7'500, .back_us = 7'500, .jitter_us = 100});
  const NodeClock& clock = fitted();
  EXPECT_LT(worst_us(), 60);
  EXPECT_NEAR(clock.drift_ppm, -200, 3);
  EXPECT_NEAR(*clock.error_ns, 7.5e6, 0.1e6);
  EXPECT_LT(*clock.noise_ns, 0.1e6);
}

TEST_F(TwoClocks, AreOffByHalfOfWhatTheWaysDifferWhichTheErrorCovers) {
  begin(10);
  run->add_traffic(ab, {.there_us = 400, .back_us = 100});
  const NodeClock& clock = fitted();
  EXPECT_NEAR(worst_us(), 150, 20);
  EXPECT_LT(worst_us() * 1e3, *clock.error_ns);
}

TEST_F(TwoClocks, AreNotMisledByAQueueThatStandsForHalfOfTheRun) {
  begin(120);
  run->add_traffic(ab, {.to_s = 60});
  run->add_traffic(ab, {.from_s = 60, .to_s = 120, .standing_us = 5'000});
  const NodeClock& clock = fitted();
  EXPECT_LT(worst_us(), 30);
  EXPECT_LT(*clock.noise_ns, 50e3);
}

TEST_F(TwoClocks, AreFollowedWhereARateChanges) {
  begin(600, [](double true_ns) {
    const double later_ns = std::max(0.0, true_ns - 250e9);
    return kHour + std::llround(true_ns * (1 + 20e-6) - later_ns * 60e-6);
  });
  run->add_traffic(ab, {.to_s = 600});
  const NodeClock& clock = fitted();
  EXPECT_LT(worst_us(), 20);
  EXPECT_GT(clock.to_common.knots().size(), 2U);
}

TEST_F(TwoClocks, AreFollowedWhereTheRateSwings) {
  begin(3'600, [](double true_ns) {
    return kHour + std::llround(true_ns * (1 + 20e-6) + 400e3 * std::sin(true_ns / 3'600e9 * 6.28));
  });
  run->add_traffic(ab, {.to_s = 3'600, .per_s = 4});
  fitted();
  EXPECT_LT(worst_us(), 50);
}

TEST_F(TwoClocks, RunEvenlyThroughTime) {
  begin(600, [](double true_ns) {
    return kHour + std::llround(true_ns - std::max(0.0, true_ns - 250e9) * 60e-6);
  });
  run->add_traffic(ab, {.to_s = 600});
  fitted();
  const Span span = run->data.nodes[b].span;
  for (std::int64_t t = span.start_ns; t < span.end_ns; t += 100'000'000) {
    const std::int64_t step = clocks.common_ns(b, t + 100'000'000) - clocks.common_ns(b, t);
    EXPECT_NEAR(static_cast<double>(step), 100e6, 100e6 * 200e-6);
    EXPECT_NEAR(static_cast<double>(clocks.local_ns(b, clocks.common_ns(b, t)) - t), 0, 2);
  }
}

TEST_F(TwoClocks, AreFoundWhereNumbersComeAgain) {
  begin(60);
  // 2^32 is 16 packets: each number comes every 1.6 s.
  run->add_traffic(ab, {.to_s = 60, .bytes = 268'435'456.0 / 2});
  fitted();
  EXPECT_LT(worst_us(), 30);
}

TEST_F(TwoClocks, AreFoundFromManyConnectionsOfFewPackets) {
  begin(20);
  for (int i = 0; i < 40; ++i) {
    run->add_traffic(run->connect(b, a), {.from_s = i * 0.5, .to_s = i * 0.5 + 0.2});
  }
  fitted();
  EXPECT_LT(worst_us(), 60);
}

TEST_F(TwoClocks, AreFoundAmongVeryManyPackets) {
  begin(600);
  for (int i = 0; i < 25; ++i) {
    run->add_traffic(run->connect(a, b), {.to_s = 600, .per_s = 10});
  }
  fitted();
  EXPECT_LT(worst_us(), 20);
}

// The sender's mark is of a copy that it sent later, the receiver's of the first.
TEST_F(TwoClocks, AreNotPoisonedByAnotherCopyOfAPacket) {
  begin(20);
  run->add_traffic(ab, {.to_s = 20});
  run->packet(ab, Direction::AToB, 3e9, -200e6);
  run->packet(ab, Direction::BToA, 12e9, -40e6);
  run->packet(ab, Direction::BToA, 15e9, -5e6);
  fitted();
  EXPECT_LT(worst_us(), 30);
}

TEST_F(TwoClocks, AreBelievedOfTwoPacketsOnlyWhereWallClocksAgree) {
  begin(10);
  run->packet(ab, Direction::AToB, 3e9, 50e3);
  run->packet(ab, Direction::BToA, 4e9, 50e3);
  EXPECT_EQ(fitted().source, ClockSource::Marks);
  EXPECT_LT(worst_us(), 500);
  EXPECT_LT(worst_us() * 1e3, *clocks.nodes[b].error_ns);
  run->data.nodes[b].wall_start_ns += kHour;
  EXPECT_NE(fitted().source, ClockSource::Marks);
}

TEST_F(TwoClocks, TakeHalfOfTheRoundTripWherePacketsGoOneWay) {
  begin(30);
  run->add_traffic(ab, {.to_s = 30});
  for (NodeData& node : run->data.nodes) node.flows[0].marks[1].clear();
  record::SocketSample sample;
  sample.min_rtt_us = 120;
  run->data.nodes[a].flows[0].sockets[0].push_back(sample);
  // How soon b's own answers leave is no round trip.
  record::FlowSample answered;
  answered.min_rtt_us = 3;
  run->data.nodes[b].flows[0].packets[0].push_back(answered);
  const NodeClock& clock = fitted();
  EXPECT_EQ(clock.source, ClockSource::Marks);
  EXPECT_LT(worst_us(), 50);
  EXPECT_NEAR(*clock.error_ns, 60e3, 100);
  EXPECT_THAT(clocks.missing, ElementsAre(HasSubstr("one direction only")));
}

TEST_F(TwoClocks, AreToldApartFromWallClocksThatAreWrong) {
  begin(10);
  run->add_traffic(ab, {});
  run->data.nodes[b].wall_start_ns += kHour;
  fitted();
  EXPECT_LT(worst_us(), 30);
  EXPECT_THAT(clocks.missing, ElementsAre(HasSubstr("wall clocks of a and b are 1.00 h apart")));
}

TEST_F(TwoClocks, AreKnownFromAPartOfTheRunOnly) {
  begin(100);
  run->add_traffic(ab, {.to_s = 20});
  fitted();
  EXPECT_THAT(clocks.missing, ElementsAre(HasSubstr("known from 20 % of the run")));
}

TEST_F(TwoClocks, AreFoundFromCollectivesWithoutMarks) {
  begin(30);
  collectives();
  EXPECT_EQ(fitted().source, ClockSource::Collectives);
  EXPECT_LT(worst_us(), 30);
  EXPECT_THAT(clocks.missing, IsEmpty());
}

TEST_F(TwoClocks, AreFoundFromCollectivesWhereMarksAreFew) {
  begin(30);
  run->add_traffic(ab, {.to_s = 30, .per_s = 0.3, .jitter_us = 400});
  fitted();
  EXPECT_GT(worst_us(), 60);
  collectives();
  EXPECT_EQ(fitted().source, ClockSource::Marks);
  EXPECT_LT(worst_us(), 30);
}

TEST_F(TwoClocks, AreNotFoundFromCollectivesThatPacketsContradict) {
  begin(30);
  run->add_traffic(ab, {.to_s = 30});
  collectives(1);
  fitted();
  EXPECT_LT(worst_us(), 30);
}

TEST_F(TwoClocks, AreTakenFromProbesWithoutPackets) {
  begin(10, wrong_clock(kHour, 0));
  run->data.nodes[b].clock_offsets = {
      {.t_ns = run->data.nodes[b].span.start_ns,
       .peer = "a",
       .offset_ns = -kHour - 70'000,
       .error_ns = 900'000},
      {.t_ns = run->data.nodes[b].span.start_ns, .peer = "other", .offset_ns = 5}};
  const NodeClock& clock = fitted();
  EXPECT_EQ(clock.source, ClockSource::Offsets);
  EXPECT_NEAR(worst_us(), 70, 1);
  EXPECT_GT(*clock.error_ns, 900e3);
  EXPECT_THAT(clocks.missing, ElementsAre(HasSubstr("only known to 1.15 ms, by a probe")));
}

TEST_F(TwoClocks, AreTakenFromWallClocksWithoutPackets) {
  begin(10, wrong_clock(kHour, 0));
  run->data.nodes[b].wall_start_ns += 3'000'000;
  const NodeClock& clock = fitted();
  EXPECT_EQ(clock.source, ClockSource::WallClock);
  EXPECT_NEAR(worst_us(), 3'000, 1);
  EXPECT_FALSE(clock.noise_ns);
  EXPECT_THAT(clocks.missing, ElementsAre(HasSubstr("only known to some 50.0 ms")));
}

TEST_F(TwoClocks, AreTakenToBeginTogetherWhereNothingIsKnown) {
  begin(10);
  run->data.nodes[b].wall_start_ns += kHour;
  const NodeClock& clock = fitted();
  EXPECT_EQ(clock.source, ClockSource::None);
  EXPECT_FALSE(clock.error_ns);
  EXPECT_LT(worst_us(), 1e6);
  EXPECT_THAT(clocks.missing, ElementsAre(HasSubstr("not known")));
}

TEST_F(TwoClocks, OfOneHostAreOne) {
  begin(10, wrong_clock(0, 0));
  run->add_traffic(ab, {.there_us = 400});
  run->data.nodes[b].boot_id = run->data.nodes[a].boot_id;
  EXPECT_EQ(fitted().source, ClockSource::SameHost);
  EXPECT_EQ(worst_us(), 0);
  const Clocks found = fit_clocks(run->data, {.use_boot_ids = false});
  EXPECT_EQ(found.nodes[b].source, ClockSource::Marks);
  EXPECT_NEAR(run->worst_us(found, b), 175, 20);
}

TEST_F(TwoClocks, OfOneHostAreTwoWhereARecordWentOnOverAReboot) {
  begin(10, wrong_clock(kHour, 0));
  run->add_traffic(ab, {});
  run->data.nodes[b].boot_id = run->data.nodes[a].boot_id;
  EXPECT_EQ(fitted().source, ClockSource::Marks);
  EXPECT_LT(worst_us(), 20);
}

TEST(ManyClocks, AreLedToOneOverTheSurestWay) {
  TrueRun run(30);
  const std::size_t a = run.node("a", wrong_clock(0, 0));
  const std::size_t b = run.node("b", wrong_clock(kHour, 50));
  const std::size_t c = run.node("c", wrong_clock(-kHour, -50));
  const std::size_t d = run.node("d", wrong_clock(5, 0));
  run.add_traffic(run.connect(a, b), {.to_s = 30});
  run.add_traffic(run.connect(b, c), {.to_s = 30});
  run.add_traffic(run.connect(b, d), {.to_s = 30});
  // The direct way is long and uneven: what it says is 10 ms off.
  run.add_traffic(run.connect(c, d), {.to_s = 30, .there_us = 30'000, .back_us = 10'000});
  const Clocks clocks = fit_clocks(run.data);
  EXPECT_EQ(clocks.reference, b);
  for (const std::size_t node : {a, c, d}) {
    EXPECT_EQ(clocks.nodes[node].source, ClockSource::Marks);
    EXPECT_LT(run.worst_us(clocks, node), 40);
  }
  EXPECT_THAT(clocks.missing, IsEmpty());
}

TEST(ManyClocks, AreNotLedByAFewPacketsOfTheFirstMoment) {
  TrueRun run(60);
  const std::size_t a = run.node("a", wrong_clock(0, 0));
  const std::size_t b = run.node("b", wrong_clock(kHour, 20));
  const std::size_t c = run.node("c", wrong_clock(-kHour, -40));
  run.add_traffic(run.connect(a, b), {.to_s = 60});
  run.add_traffic(run.connect(b, c), {.to_s = 60});
  run.add_traffic(run.connect(a, c), {.to_s = 0.5, .there_us = 10, .back_us = 10, .jitter_us = 1});
  const Clocks clocks = fit_clocks(run.data);
  for (const std::size_t node : {a, b, c}) {
    EXPECT_LT(run.worst_us(clocks, node), 60);
  }
  EXPECT_THAT(clocks.missing, IsEmpty());
}

TEST(ManyClocks, AreComposedAlongAChain) {
  TrueRun run(30);
  std::vector<std::size_t> nodes;
  for (int i = 0; i < 6; ++i) {
    nodes.push_back(
        run.node(std::string(1, static_cast<char>('a' + i)), wrong_clock(i * kHour, 30.0 * i)));
  }
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    run.add_traffic(run.connect(nodes[i], nodes[i + 1]), {.to_s = 30});
  }
  const Clocks clocks = fit_clocks(run.data);
  for (const std::size_t node : nodes) EXPECT_LT(run.worst_us(clocks, node), 100);
  EXPECT_NEAR(*clocks.nodes[5].error_ns, 4 * 60e3, 60e3);
}

TEST(ManyClocks, NoNodesAndOneNode) {
  EXPECT_TRUE(fit_clocks({}).nodes.empty());
  TrueRun run(10);
  run.node("a", wrong_clock(kHour, 0));
  const Clocks clocks = fit_clocks(run.data);
  EXPECT_EQ(clocks.common_ns(0, 42), 42);
  EXPECT_EQ(clocks.local_ns(0, 42), 42);
  EXPECT_THAT(clocks.missing, IsEmpty());
}

}  // namespace
}  // namespace chokepoint::analysis
