// Rows as NCCL's plugin makes them: several ranks a node, arrivals told for a share of the time.
#include <gmock/gmock.h>

#include "analysis/phases/phases.h"
#include "analysis/phases/steps.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

using record::Collective;
using record::CollectiveKind;

struct NcclPlan {
  std::int64_t rank = 0;
  std::int64_t number = 0;
  double asked_ms = 0;
  std::optional<double> ready_ms = {};
  double end_ms = 0;
};

Collective nccl(const NcclPlan& plan) {
  Collective made{.start_ns = ms_ns(plan.ready_ms.value_or(plan.asked_ms)),
                  .end_ns = ms_ns(plan.end_ms),
                  .number = plan.number,
                  .kind = CollectiveKind::AllReduce,
                  .source = record::CollectiveSource::Nccl};
  made.rank = plan.rank;
  made.communicator = 1 << 22;
  made.bytes = 1'000'000;
  made.enqueued_ns = ms_ns(plan.asked_ms);
  made.last_data_ns = ms_ns(plan.end_ms);
  if (plan.ready_ms) {
    made.own_ready_ns = ms_ns(*plan.ready_ms);
  }
  return made;
}

// Two nodes of two ranks each; steps of 300 ms, of which the last 20 are an all-reduce. `late` is a
// rank that comes 200 ms after the others, in each step.
class NcclRun : public testing::Test {
 protected:
  void make(int steps, std::optional<std::int64_t> late, int told_from, int told_to) {
    for (int step = 0; step < steps; ++step) {
      const double begin = 300.0 * step;
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        const double ready = begin + (late == rank || !late ? 280 : 80);
        const bool is_told = step >= told_from && step < told_to;
        run_.add(static_cast<std::size_t>(rank / 2),
                 nccl({.rank = rank,
                       .number = step,
                       .asked_ms = begin + 1,
                       .ready_ms = is_told ? std::optional(ready) : std::nullopt,
                       .end_ms = begin + 299}));
      }
      all_.push_back({ms_ns(begin), ms_ns(begin + 300)});
    }
    run_.add_steps(0, all_);
  }
  StepLine steps() { return choose_steps(run_.data, run_.clocks); }
  Phases phases() { return phases_of(run_.data, run_.clocks, steps()); }

  TimelineRun run_{2};
  Spans all_;
};

TEST_F(NcclRun, NamesTheLateRankAmongItsNodes) {
  make(30, 3, 0, 30);
  const Phases found = phases();
  EXPECT_EQ(found.source, PhaseSource::Library);
  EXPECT_NEAR(found.late_ms[1], 200, 2);
  EXPECT_NEAR(found.late_ms[0], 0, 2);
  ASSERT_FALSE(found.late.empty());
  for (const Late& late : found.late) {
    EXPECT_EQ(late.rank, 3);
  }
}

TEST_F(NcclRun, RanksThatComeTogetherAreNotLate) {
  make(30, {}, 0, 30);
  const Phases found = phases();
  EXPECT_EQ(found.waiting_ms(), 0);
  EXPECT_NEAR(found.exposed_ms, 19, 1);
}

TEST_F(NcclRun, StepsWhoseArrivalsAreToldStandForAll) {
  make(40, 2, 10, 18);
  const StepLine line = steps();
  EXPECT_EQ(line.all.size(), 40U);
  EXPECT_EQ(line.settled.size(), 8U);
  EXPECT_EQ(line.settled.front().start_ns, ms_ns(3'000));
  EXPECT_NEAR(phases().late_ms[1], 200, 2);
}

TEST_F(NcclRun, WhereTooFewAreToldTheConnectionsSpeak) {
  make(40, 2, 10, 12);
  EXPECT_EQ(steps().settled.size(), 38U);
  const Phases found = phases();
  EXPECT_NE(found.source, PhaseSource::Library);
  EXPECT_EQ(found.waiting_ms(), 0);
  EXPECT_FALSE(unreported_arrivals(run_.data, run_.clocks).empty());
}

TEST_F(NcclRun, RanksOfOneNodeMeetEachOther) {
  make(1, {}, 0, 1);
  const auto meetings = meetings_of(exchanges_of(run_.data, run_.clocks));
  ASSERT_EQ(meetings.size(), 1U);
  EXPECT_EQ(meetings[0].size(), 4U);
}

TEST_F(NcclRun, WhatWasOnlyAskedForIsNoExchange) {
  Collective asked = nccl({.asked_ms = 5, .end_ms = 5});
  asked.last_data_ns = {};
  run_.add(0, asked);
  EXPECT_TRUE(exchanges_of(run_.data, run_.clocks)[0].empty());
}

TEST_F(NcclRun, ACollectiveOfGloosIsAnotherOne) {
  Collective gloo = nccl({.rank = 0, .ready_ms = 5, .end_ms = 9});
  gloo.source = record::CollectiveSource::Gloo;
  run_.add(0, gloo);
  run_.add(1, nccl({.rank = 1, .ready_ms = 5, .end_ms = 9}));
  EXPECT_EQ(meetings_of(exchanges_of(run_.data, run_.clocks)).size(), 2U);
}

// Four pairs, in each of which one rank is 10 ms late, at another time than in the other pairs;
// then all meet. One pair's ranks come last there, and the others would have waited anyway.
TEST_F(NcclRun, OfManyGroupsThoseThatWouldHaveWaitedAnywayCostNothing) {
  for (int step = 0; step < 30; ++step) {
    const double begin = 300.0 * step;
    for (std::int64_t rank = 0; rank < 8; ++rank) {
      const std::int64_t pair = rank / 2;
      const double met = begin + 100 + 20.0 * static_cast<double>(pair);
      const auto node = static_cast<std::size_t>(rank / 4);
      Collective inside = nccl({.rank = rank,
                                .number = step,
                                .asked_ms = begin,
                                .ready_ms = rank % 2 == 0 ? met : met - 10,
                                .end_ms = met + 1});
      inside.communicator = (1 << 22) + 1 + pair;
      inside.bytes = 1'000;
      run_.add(node, inside);
      run_.add(node, nccl({.rank = rank,
                           .number = step,
                           .asked_ms = begin,
                           .ready_ms = begin + (pair == 3 ? 290 : 280),
                           .end_ms = begin + 299}));
    }
    all_.push_back({ms_ns(begin), ms_ns(begin + 300)});
  }
  run_.add_steps(0, all_);
  const Phases found = phases();
  EXPECT_NEAR(found.waiting_ms(), 10, 1);
  EXPECT_EQ(found.late_ms[0], 0);
}

// Of what stays inside a host some versions of NCCL tell only that they were asked for it.
TEST_F(NcclRun, WhatIsNeverToldOfAHostsInsideDoesNotHideTheRest) {
  make(30, 3, 0, 30);
  for (int step = 0; step < 30; ++step) {
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const double asked = 300.0 * step + 1;
      Collective inside = nccl({.rank = rank, .number = step, .asked_ms = asked, .end_ms = asked});
      inside.communicator = (1 << 22) + 1 + rank / 2;
      inside.last_data_ns = {};
      run_.add(static_cast<std::size_t>(rank / 2), inside);
    }
  }
  EXPECT_TRUE(unreported_arrivals(run_.data, run_.clocks).empty());
  const Phases found = phases();
  EXPECT_EQ(found.source, PhaseSource::Library);
  EXPECT_NEAR(found.late_ms[1], 200, 2);
}

// Ranks 2 and 3 exchange inside their host, of which nothing is told; so both come late to the
// rest.
TEST_F(NcclRun, RanksThatWaitForEachOtherUnseenAreLateAsOne) {
  for (int step = 0; step < 30; ++step) {
    const double begin = 300.0 * step;
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const auto node = static_cast<std::size_t>(rank / 2);
      Collective inside =
          nccl({.rank = rank, .number = step, .asked_ms = begin + 1, .end_ms = begin + 1});
      inside.communicator = (1 << 22) + 1 + rank / 2;
      inside.last_data_ns = {};
      run_.add(node, inside);
      Collective between = nccl({.rank = rank,
                                 .number = step,
                                 .asked_ms = begin + 1,
                                 .ready_ms = begin + (rank < 2 ? 80 : 280),
                                 .end_ms = begin + 299});
      between.communicator = (1 << 22) + 3 + rank % 2;
      run_.add(node, between);
    }
    all_.push_back({ms_ns(begin), ms_ns(begin + 300)});
  }
  run_.add_steps(0, all_);
  const Phases found = phases();
  const auto& late = *std::ranges::max_element(found.ranks, {}, &RankLateness::late_ms);
  EXPECT_EQ(late.node, 1U);
  ASSERT_EQ(late.similar.size(), 1U);
  EXPECT_EQ(late.rank + late.similar[0], 5);
  EXPECT_NEAR(late.late_ms, 200, 2);
  EXPECT_NEAR(found.waiting_ms(), 200, 2);
}

// Ranks 1 and 2 lie inside a ring of four, and one of them comes 200 ms after the others.
TEST_F(NcclRun, AWaitWithNothingUnderWayIsForSomebodyOfWhomNothingIsTold) {
  const std::int64_t flow = run_.connect(0, 1);
  run_.data.connections[0].ranks[0] = 0;
  std::int64_t busy_ms = 0;
  for (int step = 0; step < 30; ++step) {
    const double begin = 300.0 * step;
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const bool is_told = rank == 0 || rank == 3;
      Collective own = nccl({.rank = rank,
                             .number = step,
                             .asked_ms = begin + 1,
                             .ready_ms = is_told ? std::optional(begin + 80) : std::nullopt,
                             .end_ms = begin + 299});
      own.last_data_ns = is_told ? own.last_data_ns : record::Figure();
      run_.add(static_cast<std::size_t>(rank / 2), own);
    }
    all_.push_back({ms_ns(begin), ms_ns(begin + 300)});
    for (const double at : {80.0, 89.0, 290.0, 299.0}) {
      busy_ms += at == 89 || at == 299 ? 9 : 0;
      record::SocketSample sample{.t_ns = ms_ns(begin + at)};
      sample.busy_us = busy_ms * 1000;
      sample.bytes_acked = busy_ms;
      run_.flow(0, flow).sockets[0].push_back(sample);
    }
  }
  run_.add_steps(0, all_);
  const Phases found = phases();
  EXPECT_EQ(found.source, PhaseSource::Library);
  EXPECT_EQ(found.waiting_ms(), 0);
  EXPECT_NEAR(found.unattributed.ms, 200, 15);
  EXPECT_THAT(found.unattributed.ranks, testing::ElementsAre(1, 2));
}

// `rank`: the job's; `from` and `to` are the communicator's.
Collective nccl_message(CollectiveKind kind, std::int64_t rank, std::int64_t from,
                        std::int64_t to) {
  Collective made = nccl({.rank = rank, .ready_ms = 5, .end_ms = 9});
  made.kind = kind;
  made.number = (from * 32'768 + to) << 32 | 4;
  return made;
}

TEST_F(NcclRun, MessagesOfTwoPipelinesWhoseRanksAreNumberedAlikeAreTwo) {
  for (const std::int64_t pipeline : {0, 1}) {
    Collective sent = nccl_message(CollectiveKind::Send, pipeline, 0, 1);
    Collective received = nccl_message(CollectiveKind::Receive, 2 + pipeline, 0, 1);
    sent.communicator = received.communicator = (1 << 22) + pipeline;
    // By time alone each end would find the other pipeline's.
    sent.own_ready_ns = ms_ns(5 + 2.0 * static_cast<double>(pipeline));
    received.own_ready_ns = ms_ns(8 - 2.0 * static_cast<double>(pipeline));
    run_.add(0, sent);
    run_.add(1, received);
  }
  const Exchanges exchanges = exchanges_of(run_.data, run_.clocks);
  const auto meetings = meetings_of(exchanges);
  ASSERT_EQ(meetings.size(), 2U);
  for (const Meeting& meeting : meetings) {
    ASSERT_EQ(meeting.size(), 2U);
    EXPECT_EQ(std::abs(at(exchanges, meeting[0]).rank - at(exchanges, meeting[1]).rank), 2);
  }
}

TEST_F(NcclRun, TheTwoEndsOfAMessageMeetWhateverGoesBackMeanwhile) {
  run_.add(0, nccl_message(CollectiveKind::Send, 0, 0, 2));
  run_.add(0, nccl_message(CollectiveKind::Receive, 0, 2, 0));
  run_.add(1, nccl_message(CollectiveKind::Send, 2, 2, 0));
  run_.add(1, nccl_message(CollectiveKind::Receive, 2, 0, 2));
  const Exchanges exchanges = exchanges_of(run_.data, run_.clocks);
  const auto meetings = meetings_of(exchanges);
  ASSERT_EQ(meetings.size(), 2U);
  for (const Meeting& meeting : meetings) {
    ASSERT_EQ(meeting.size(), 2U);
    EXPECT_NE(at(exchanges, meeting[0]).kind, at(exchanges, meeting[1]).kind);
    EXPECT_NE(meeting[0].list, meeting[1].list);
    EXPECT_EQ(at(exchanges, meeting[0]).number, 4);
  }
}

}  // namespace
}  // namespace chokepoint::analysis
