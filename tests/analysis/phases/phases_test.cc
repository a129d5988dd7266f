#include "analysis/phases/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

Phases phases_of(const TimelineRun& run) {
  return analysis::phases_of(run.data, run.clocks, choose_steps(run.data, run.clocks));
}

void expect_sound(const Phases& phases) {
  const double sum = phases.computing_ms + phases.exposed_ms + phases.waiting_ms();
  EXPECT_NEAR(sum, phases.step_ms, 1e-6 * std::max(1.0, phases.step_ms));
  for (const double part : {phases.computing_ms, phases.exposed_ms, phases.hidden_ms}) {
    EXPECT_TRUE(std::isfinite(part));
    EXPECT_GE(part, -1e-6);
  }
  for (const double late : phases.late_ms) {
    EXPECT_GE(late, 0);
  }
  for (std::size_t place = 1; place < phases.communicating.size(); ++place) {
    EXPECT_GT(phases.communicating[place].start_ns, phases.communicating[place - 1].end_ns);
  }
}

// Nodes in a ring of one all-reduce a step of 100 ms, that takes 20; small enough to be waited for.
//
//   rank 0   ── computes 50 ──┤ ·· waits late ··├─ 20 ─│─ rest ─┤
class AStep : public testing::Test {
 protected:
  void make(std::size_t nodes, const std::vector<double>& late, int steps = 20) {
    run = TimelineRun(nodes);
    for (std::size_t node = 1; node < nodes; ++node) {
      flow = run.connect(node - 1, node);
    }
    run.add_steps(0, steps_ms(steps, 100), 0);
    const double latest = *std::ranges::max_element(late);
    for (int step = 0; step < steps; ++step) {
      for (std::size_t node = 0; node < nodes; ++node) {
        const double all = step * 100 + 50 + latest;
        run.add(node, row({.number = step,
                           .ready_ms = step * 100 + 50 + late[node],
                           .peer_ms = all,
                           .end_ms = all + 20,
                           .bytes = 1000},
                          flow));
      }
    }
  }

  TimelineRun run{2};
  std::int64_t flow = 0;
};

TEST_F(AStep, IsNothingWithoutSteps) {
  make(2, {0, 0}, 0);
  const Phases phases = phases_of(run);
  EXPECT_EQ(phases.source, PhaseSource::None);
  EXPECT_EQ(phases.late_ms.size(), 2U);
  EXPECT_EQ(phases.step_ms, 0);
}

TEST_F(AStep, IsAllComputingWhereNothingWasSeen) {
  run.add_steps(0, steps_ms(20, 100), 0);
  const Phases phases = phases_of(run);
  EXPECT_EQ(phases.source, PhaseSource::None);
  EXPECT_NEAR(phases.computing_ms, 100, 1e-6);
  expect_sound(phases);
}

TEST_F(AStep, IsComputingAndCommunication) {
  make(2, {0, 0});
  const Phases phases = phases_of(run);
  EXPECT_EQ(phases.source, PhaseSource::Library);
  EXPECT_NEAR(phases.step_ms, 100, 1e-6);
  EXPECT_NEAR(phases.exposed_ms, 20, 0.1);
  EXPECT_NEAR(phases.computing_ms, 80, 0.1);
  EXPECT_NEAR(phases.waiting_ms(), 0, 1e-6);
  EXPECT_EQ(phases.communicating.size(), 18U);  // of settled steps
  expect_sound(phases);
}

TEST_F(AStep, WaitsForALateRankAndNotForTheNetwork) {
  make(3, {0, 0, 25});
  const Phases phases = phases_of(run);
  EXPECT_NEAR(phases.late_ms.at(2), 25, 0.1);
  EXPECT_NEAR(phases.waiting_ms(), 25, 0.1);
  EXPECT_NEAR(phases.exposed_ms, 20, 0.1);
  EXPECT_NEAR(phases.computing_ms, 55, 0.1);
  expect_sound(phases);
}

// What rank 1 sent before was under way all the time in which the others waited for it, so that
// nobody can know when it came.
TEST_F(AStep, IsCommunicationWhileTheLateRanksOwnSocketWasHeldUp) {
  make(2, {0, 25});
  std::vector<record::SocketSample>& samples = run.flow(1, flow).sockets[1];
  for (int step = 0; step < 20; ++step) {
    for (const double at : {50.0, 75.0}) {
      record::SocketSample sample{.t_ns = ms_ns(step * 100 + at)};
      sample.busy_us = step * 25'000 + (at > 60 ? 25'000 : 0);
      sample.bytes_acked = step * 1000 + (at > 60 ? 1000 : 0);
      samples.push_back(sample);
    }
  }
  const Phases phases = phases_of(run);
  EXPECT_NEAR(phases.waiting_ms(), 0, 0.1);
  EXPECT_NEAR(phases.exposed_ms + phases.hidden_ms, 45, 0.1);
  expect_sound(phases);
}

TEST_F(AStep, GoesByActivityWhereTheLibrarySaysNothing) {
  flow = run.connect(0, 1);
  run.add_steps(0, steps_ms(20, 100), 0);
  for (int reading = 0; reading <= 200; ++reading) {
    record::SocketSample sample{.t_ns = ms_ns(reading * 10)};
    sample.busy_us = reading / 10 * 30'000 + std::min(reading % 10, 3) * 10'000;
    run.flow(0, flow).sockets[0].push_back(sample);
  }
  const Phases phases = phases_of(run);
  EXPECT_EQ(phases.source, PhaseSource::Sockets);
  EXPECT_NEAR(phases.exposed_ms + phases.hidden_ms, 30, 0.1);
  EXPECT_EQ(phases.waiting_ms(), 0);
  expect_sound(phases);
}

TEST_F(AStep, CountsNothingOutsideTheSteps) {
  make(2, {0, 30});
  run.data.nodes[0].steps.resize(10);
  const Phases first_half = phases_of(run);
  EXPECT_NEAR(first_half.waiting_ms(), 30, 0.1);
  EXPECT_NEAR(first_half.exposed_ms, 20, 0.1);
  EXPECT_LE(first_half.communicating.back().end_ns, ms_ns(1000));
}

TEST_F(AStep, MayLeaveGapsBeforeTheNext) {
  make(2, {0, 30});
  for (record::Step& step : run.data.nodes[0].steps) {
    step.start_ns += ms_ns(45);  // only exchange and wait are in the step
  }
  const Phases phases = phases_of(run);
  EXPECT_NEAR(phases.step_ms, 55, 1e-6);
  EXPECT_NEAR(phases.waiting_ms(), 30, 0.1);
  expect_sound(phases);
}

//   node 0   rank 0   40 ─┤ ············├─ 90        each talks with the next one, 0 with 1 and 2
//   with
//            rank 1   40 ──────── 80 ──┤├─ 90        3 over loopback
//   node 1   rank 2   40 ─┤ ············├─ 90
//            rank 3   40 ─┤ ············├─ 90
TEST_F(AStep, KnowsWhichOfANodesRanksIsLate) {
  run = TimelineRun(2);
  run.add_steps(0, steps_ms(20, 100), 0);
  const std::vector<std::int64_t> flows{run.connect(0, 0), run.connect(0, 1), run.connect(1, 1),
                                        run.connect(1, 0)};
  for (int step = 0; step < 20; ++step) {
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      record::Collective own = row({.number = step,
                                    .ready_ms = step * 100 + (rank == 1 ? 80.0 : 40.0),
                                    .peer_ms = step * 100 + (rank == 3 ? 40.0 : 80.0),
                                    .end_ms = step * 100 + 90.0},
                                   flows.at(static_cast<std::size_t>(rank == 0 ? 0 : rank - 1)));
      own.rank = rank;
      run.add(rank < 2 ? 0 : 1, own);
    }
  }
  const Phases phases = phases_of(run);
  expect_sound(phases);
  ASSERT_EQ(phases.ranks.size(), 4U);
  EXPECT_EQ(phases.ranks[1].rank, 1);
  EXPECT_NEAR(phases.ranks[1].late_ms, 40, 1);
  EXPECT_NEAR(phases.late_ms.at(0), 40, 1);
  EXPECT_NEAR(phases.late_ms.at(1), 0, 1);
  EXPECT_NEAR(phases.exposed_ms, 10, 1);
}

// Two groups, {0, 2} and {1, 3}, of which the second exchanges while the first waits for rank 0,
// and is over before it. Rank 3's connection was never the one of another rank, but it met rank 1;
// and one row is from before rank 2 was known.
//
//   rank 0   40 ──────── 75 ──┤├──── 95          rank 1   40 ─┤├──── 70
//   rank 2   40 ─┤ ···········├───── 95          rank 3   40 ─┤├──── 70
TEST_F(AStep, IsAsLongAsForTheLateRankWhereAnotherGroupExchangesMeanwhile) {
  run = TimelineRun(2);
  run.add_steps(0, steps_ms(40, 100), 0);
  const std::int64_t first = run.connect(0, 1);
  const std::int64_t second = run.connect(0, 1);
  const std::int64_t alone = run.connect(0, 1);
  const std::array flows{first, second, first, alone};
  for (int step = 0; step < 40; ++step) {
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const double came = step * 100 + (rank == 0 ? 75.0 : 40.0);
      record::Collective own = row({.number = step,
                                    .communicator = rank % 2,
                                    .ready_ms = came,
                                    .peer_ms = step * 100 + (rank == 2 ? 75.0 : 40.0),
                                    .end_ms = step * 100 + (rank % 2 == 0 ? 95.0 : 70.0)},
                                   flows.at(static_cast<std::size_t>(rank)));
      own.rank = rank;
      run.add(rank < 2 ? 0 : 1, own);
    }
  }
  run.add(1, row({.number = 0, .communicator = 7, .ready_ms = 1, .end_ms = 2}));
  const Phases phases = phases_of(run);
  expect_sound(phases);
  EXPECT_NEAR(phases.late_ms.at(0), 35, 1);
  EXPECT_NEAR(phases.late_ms.at(1), 0, 1);
  EXPECT_NEAR(phases.exposed_ms, 20, 1);
}

TEST_F(AStep, MayOverlapTheNext) {
  make(2, {0, 30});
  for (record::Step& step : run.data.nodes[0].steps) {
    step.end_ns += ms_ns(60);
  }
  expect_sound(phases_of(run));
}

// Of four groups of two each has a rank that is 40 ms late at the same time: together more than
// what the step has.
TEST_F(AStep, HasNoMoreWaitingThanTime) {
  run = TimelineRun(8);
  run.add_steps(0, steps_ms(20, 100), 0);
  std::int64_t shared = 0;
  for (std::size_t node = 0; node < 8; ++node) {
    shared = node % 2 == 0 ? run.connect(node, node + 1) : shared;
    for (int step = 0; step < 20; ++step) {
      run.add(node, row({.number = step,
                         .ready_ms = step * 100 + 40.0 + (node % 2 == 0 ? 0 : 40),
                         .peer_ms = step * 100 + 80.0,
                         .end_ms = step * 100 + 90.0,
                         .bytes = 1000},
                        shared));
    }
  }
  const Phases phases = phases_of(run);
  EXPECT_LE(phases.waiting_ms(), 90 + 1e-6);
  EXPECT_NEAR(phases.late_ms.at(1), phases.late_ms.at(7), 1e-6);
  EXPECT_GT(phases.late_ms.at(1), 0);
  expect_sound(phases);
}

// Whatever records say, the parts of a step are its time.
TEST_F(AStep, IsTheSumOfItsPartsOfNonsense) {
  std::mt19937_64 random(7);
  const auto number = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  for (int round = 0; round < 200; ++round) {
    run = TimelineRun(1 + random() % 4);
    const std::size_t nodes = run.data.nodes.size();
    const std::int64_t id = nodes > 1 ? run.connect(0, 1) : 0;
    for (std::size_t node = 0; node < nodes; ++node) {
      for (std::int64_t step = 0; step < number(12); ++step) {
        const auto from = static_cast<double>(number(1000));
        run.add_steps(node, {span_ms(from, from + static_cast<double>(number(200)) - 20)});
      }
      for (std::int64_t row_of = 0; row_of < number(60); ++row_of) {
        record::Collective any = row({.kind = record::CollectiveKind(number(11)),
                                      .number = number(5),
                                      .communicator = number(2),
                                      .ready_ms = static_cast<double>(number(1000)),
                                      .peer_ms = static_cast<double>(number(1000)),
                                      .end_ms = static_cast<double>(number(1000)),
                                      .bytes = number(3'000'000) - 1000},
                                     number(2) == 0 ? record::Figure() : record::Figure(id));
        any.own_ready_ns = number(9) == 0 ? record::Figure() : any.own_ready_ns;
        any.peer_ready_ns = number(9) == 0 ? record::Figure() : any.peer_ready_ns;
        any.last_data_ns = number(9) == 0 ? record::Figure() : any.last_data_ns;
        run.add(node, any);
      }
    }
    for (std::int64_t reading = 0; nodes > 1 && reading < number(100); ++reading) {
      record::SocketSample sample{.t_ns = ms_ns(static_cast<double>(number(1000)))};
      sample.busy_us = number(5000);
      sample.bytes_acked = number(5000);
      sample.min_rtt_us = number(50'000);
      run.flow(0, id).sockets.at(random() % 2).push_back(sample);
    }
    expect_sound(phases_of(run));
    if (HasFailure()) {
      FAIL() << "round " << round;
    }
  }
}

// Twice as many as are read of a record: what grows with their square shows here, as a test that
// does not end.
TEST_F(AStep, MayBeOfManyInALongRun) {
  make(4, {0, 0, 0, 30}, 50'000);
  std::vector<record::SocketSample>& samples = run.flow(3, flow).sockets[1];
  for (int reading = 0; reading < 200'000; ++reading) {
    record::SocketSample sample{.t_ns = ms_ns(reading * 25)};
    sample.busy_us = reading * 1000;
    sample.bytes_acked = reading;
    samples.push_back(sample);
  }
  expect_sound(phases_of(run));
}

TEST_F(AStep, MayBeOfManyMessagesInALongRun) {
  constexpr int kMany = 50'000;
  run = TimelineRun(2);
  flow = run.connect(0, 1);
  run.add_steps(0, steps_ms(kMany, 100), 0);
  for (int step = 0; step < kMany; ++step) {
    for (const std::size_t node : {0U, 1U}) {
      run.add(node, row({.kind = node == 0 ? record::CollectiveKind::Send
                                           : record::CollectiveKind::Receive,
                         .number = step % 4,
                         .ready_ms = step * 100 + 50.0,
                         .peer_ms = step * 100 + 50.0,
                         .end_ms = step * 100 + 70.0},
                        flow));
    }
  }
  expect_sound(phases_of(run));
}

}  // namespace
}  // namespace chokepoint::analysis
