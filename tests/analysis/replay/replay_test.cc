// Replayed runs of two ranks whose every moment is known, so that what a change makes of a step can
// be worked out by hand.
#include "analysis/replay/replay.h"

#include <gtest/gtest.h>

#include "base/math/tcp_rate.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

constexpr int kSteps = 12;

// Two ranks that compute, the second one for longer, and then exchange:
//
//   rank 0   computes 60 ├ waits 20 ┤ exchange 40 │
//   rank 1   computes    80         ┤ exchange 40 │
struct TwoRanks {
  double computing_ms = 60;
  double late_ms = 20;
  double exchange_ms = 40;
  double bytes = 2e7;  // both ways: 10 MB each, 2 Gb/s in 40 ms

  double step_ms() const { return computing_ms + late_ms + exchange_ms; }

  Exchanges exchanges() const {
    Exchanges ranks(2);
    for (int step = 0; step < kSteps; ++step) {
      const double begin = 1000 + step * step_ms();
      for (const std::size_t rank : {0U, 1U}) {
        const double ready = begin + computing_ms + (rank == 1 ? late_ms : 0);
        ranks[rank].push_back(all_reduce(rank, step, ready, begin + step_ms(), bytes,
                                         begin + computing_ms + late_ms));
        ranks[rank].back().rank = static_cast<std::int64_t>(rank);
      }
    }
    return ranks;
  }
};

class ReplayTest : public testing::Test {
 protected:
  std::optional<Replay> replay(const Exchanges& exchanges, double step_ms,
                               const MeasuredPath& path = {}) {
    steps_.settled = steps_.all = steps_ms(kSteps, step_ms, 1000);
    return replay_of_steps(exchanges, step_ms, path);
  }

  std::optional<Replay> replay_of_steps(const Exchanges& exchanges, double step_ms,
                                        const MeasuredPath& path = {}) {
    phases_.source = PhaseSource::Library;
    phases_.step_ms = step_ms;
    const std::vector<Meeting> meetings = meetings_of(exchanges);
    phases_.late = late_arrivals(exchanges, meetings, steps_.settled);
    return Replay::of(
        {.exchanges = exchanges, .meetings = meetings, .steps = steps_, .phases = phases_}, path);
  }

  StepLine steps_;
  Phases phases_;
};

TEST_F(ReplayTest, TakesWhatItTookWhereNothingChanges) {
  const TwoRanks run;
  const auto same = replay(run.exchanges(), run.step_ms());
  ASSERT_TRUE(same);
  EXPECT_DOUBLE_EQ(same->step_ms(), 120);
  EXPECT_DOUBLE_EQ(*same->step_ms({}), 120);
}

TEST_F(ReplayTest, WithoutTheLateRankAStepIsShorterByItsLateness) {
  const TwoRanks run;
  const auto recorded = replay(run.exchanges(), run.step_ms());
  EXPECT_NEAR(*recorded->step_ms({.late_times = 0}), 100, 1e-6);
  EXPECT_NEAR(*recorded->step_ms({.late_times = 0.5}), 110, 1e-6);
}

// Of a long record only some steps are read, and a gain is that of these.
TEST_F(ReplayTest, StepsOfWhichNothingWasReadLendNoGain) {
  TwoRanks run;
  Exchanges exchanges = run.exchanges();
  const auto is_unread = [&](std::int64_t t_ns) {
    const double step = (static_cast<double>(t_ns) / 1e6 - 1000) / run.step_ms();
    return step > 4 && step <= 8;
  };
  for (auto& of_rank : exchanges) {
    std::erase_if(of_rank, [&](const Exchange& one) { return is_unread(one.end_ns); });
  }
  steps_.all = steps_ms(kSteps, run.step_ms(), 1000);
  steps_.settled = steps_.all;
  std::erase_if(steps_.settled, [&](const Span& step) { return is_unread(step.end_ns); });
  ASSERT_EQ(steps_.settled.size(), 8U);
  const auto recorded = replay_of_steps(exchanges, run.step_ms());
  ASSERT_TRUE(recorded);
  EXPECT_NEAR(*recorded->step_ms({.late_times = 0}), 100, 1e-6);
}

TEST_F(ReplayTest, AFullLinkTwiceAsFastHalvesTheExchange) {
  const TwoRanks run;
  const auto recorded = replay(run.exchanges(), run.step_ms(),
                               {.path = {.rate_mbps = 2000, .rtt_ms = 0.01}, .is_full = true});
  const double line_mbps = 4000 * math::kFrameBytes / math::kSegmentBytes;
  // Each pair of its segments waits for a round trip of 0.1 ms, whatever the rate.
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = line_mbps}}), 100, 0.5);
}

TEST_F(ReplayTest, WhatTheHostHeldBackNoLinkMakesFaster) {
  const TwoRanks run;
  const MeasuredPath path{.path = {.rate_mbps = 10'000, .rtt_ms = 0.01}};
  const auto recorded = replay(run.exchanges(), run.step_ms(), path);
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = 100'000}}), 120, 0.1);
  // A link of 1 Gb/s of payload takes 80 ms for its 10 MB.
  const double line_mbps = 1000 * math::kFrameBytes / math::kSegmentBytes;
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = line_mbps}}), 160, 1);
}

// Both phases of a ring of two have two segments of 1 MB each at 2 Gb/s: 4 ms. Over 20 ms they wait
// for credits: 20 + 4 + 4 instead of 0 + 8.
TEST_F(ReplayTest, CreditsTakeRoundTrips) {
  const TwoRanks run{.late_ms = 0, .exchange_ms = 16, .bytes = 8e6};
  const auto recorded = replay(run.exchanges(), run.step_ms(),
                               {.path = {.rate_mbps = 2000, .rtt_ms = 1e-6}, .is_full = true});
  EXPECT_NEAR(recorded->step_ms(), 76, 1e-9);
  EXPECT_NEAR(*recorded->step_ms({.path = {.rtt_ms = 20}}), 76 + 2 * (20 + 4 + 4) - 16, 0.1);
}

TEST_F(ReplayTest, WithoutLossAllTakeWhatTheQuickOnesTook) {
  TwoRanks run{.late_ms = 0};
  Exchanges exchanges = run.exchanges();
  double shift = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double lost = step % 3 == 0 ? 60 : 0;  // in every third step
    for (auto& rank : exchanges) {
      Exchange& own = rank[static_cast<std::size_t>(step)];
      own.own_ready_ns += ms_ns(shift);
      own.all_ready_ns += ms_ns(shift);
      own.end_ns += ms_ns(shift + lost);
    }
    shift += lost;
  }
  const auto recorded =
      replay(exchanges, 120, {.path = {.rate_mbps = 2000, .rtt_ms = 0.1, .loss = 2e-5}});
  EXPECT_NEAR(*recorded->step_ms({.path = {.loss = 0}}), 100, 2);
  EXPECT_NEAR(*recorded->step_ms({.path = {.loss = 1e-5}}), 110, 1);
}

// Of 10 MB 14 packets are lost, so no exchange shows what it takes without loss.
TEST_F(ReplayTest, NotWithoutLossWhereAllExchangesLosePackets) {
  const TwoRanks run{.late_ms = 0};
  const auto recorded =
      replay(run.exchanges(), run.step_ms(), {.path = {.rtt_ms = 0.1, .loss = 0.001}});
  EXPECT_FALSE(recorded->step_ms({.path = {.loss = 0}}));
  EXPECT_FALSE(recorded->step_ms({.path = {.loss = 0.0005}}));
  EXPECT_TRUE(recorded->step_ms({.path = {.rtt_ms = 1}}));
}

// For rank 0 the first exchange is over when its bytes are in its socket. What it announces next
// waits there behind them:
//
//   rank 0   computes 60 ├ first 40 ┤ waits 40 ├ second 20 │
//   rank 1   computes 60 ├ first 80            ┤ second 20 │
TEST_F(ReplayTest, WhatIsQueuedWaitsForTheBytesBeforeIt) {
  Exchanges exchanges(2);
  for (int step = 0; step < kSteps; ++step) {
    const double begin = 1000 + step * 160;
    for (const std::size_t rank : {0U, 1U}) {
      const double over = begin + (rank == 0 ? 100 : 140);
      exchanges[rank].push_back(all_reduce(rank, 2 * step, begin + 60, over, 4e7));
      exchanges[rank].push_back(all_reduce(rank, 2 * step + 1, begin + 140, begin + 160, 1e7));
      exchanges[rank].back().is_ready_known = false;
      for (Exchange& each : exchanges[rank]) each.rank = static_cast<std::int64_t>(rank);
    }
  }
  const auto recorded =
      replay(exchanges, 160, {.path = {.rate_mbps = 2000, .rtt_ms = 0.01}, .is_full = true});
  ASSERT_TRUE(recorded);
  const double line_mbps = 4000 * math::kFrameBytes / math::kSegmentBytes;
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = line_mbps}}), 60 + 40 + 10, 1);
}

// The link was full, and some of the exchanges had less of it than others: 20, 30 and 40 ms.
TEST_F(ReplayTest, WhatSharedAFullLinkGainsInProportion) {
  Exchanges exchanges(2);
  for (int step = 0; step < kSteps; ++step) {
    const double end = 1000 + (step + 1) * 100;
    for (const std::size_t rank : {0U, 1U}) {
      exchanges[rank].push_back(all_reduce(rank, step, end - 20 - step % 3 * 10, end, 1e7));
      exchanges[rank].back().rank = static_cast<std::int64_t>(rank);
    }
  }
  const auto recorded =
      replay(exchanges, 100, {.path = {.rate_mbps = 2000, .rtt_ms = 0.01}, .is_full = true});
  ASSERT_TRUE(recorded);
  const double line_mbps = 4000 * math::kFrameBytes / math::kSegmentBytes;
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = line_mbps}}), 70 + 15, 1);
}

// Messages that fill a hundredth of a second in part leave its bin half empty: the link gave as
// much as an exchange of 10 MB had of it in 40 ms.
TEST_F(ReplayTest, AFullLinkHasAtLeastTheRateOfTheQuickestExchanges) {
  const TwoRanks run;
  const auto recorded = replay(run.exchanges(), run.step_ms(),
                               {.path = {.rate_mbps = 1300, .rtt_ms = 0.01}, .is_full = true});
  const double line_mbps = 4000 * math::kFrameBytes / math::kSegmentBytes;
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = line_mbps}}), 100, 0.5);
}

// An exchange of 5 MB each way, of which a link of 2 Gb/s was full that others used, too.
TEST_F(ReplayTest, WhatHadALittleOfAFullLinkGoesByItsRateToo) {
  const TwoRanks run{.late_ms = 0, .exchange_ms = 50, .bytes = 1e7};
  const auto recorded = replay(run.exchanges(), run.step_ms(),
                               {.path = {.rate_mbps = 2000, .rtt_ms = 0.001}, .is_full = true});
  ASSERT_TRUE(recorded);
  const double line_mbps = 4000 * math::kFrameBytes / math::kSegmentBytes;
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = line_mbps}}), 60 + 25, 0.5);
}

// Threads that wake for each packet of a slow link work for 40 ms; at their best they take 12.5.
TEST_F(ReplayTest, NoLinkIsFasterThanTheProcessors) {
  const TwoRanks run{.late_ms = 0, .exchange_ms = 50, .bytes = 1e7};
  phases_.exchange_work_ms = 40;
  const auto recorded = replay(run.exchanges(), run.step_ms(),
                               {.path = {.rate_mbps = 800, .rtt_ms = 0.001}, .is_full = true});
  ASSERT_TRUE(recorded);
  EXPECT_NEAR(*recorded->step_ms({.path = {.rate_mbps = 1e6}}), 60 + 12.5, 0.5);
}

// Both phases of a ring wait for credits of 8 ms each, and yet it took 14 ms: one of the round
// trips had passed before both ranks were ready. So its data take 6 ms.
TEST_F(ReplayTest, ARoundTripBeforeAllWereReadyIsNotWaitedFor) {
  const TwoRanks run{.late_ms = 0, .exchange_ms = 14, .bytes = 2.4e6};
  const auto recorded = replay(run.exchanges(), run.step_ms(), {.path = {.rtt_ms = 8}});
  EXPECT_NEAR(*recorded->step_ms({.path = {.rtt_ms = 21}}), 60 + 21 + 6, 0.1);
}

// Two ranks on each of two hosts. Of a ring in the order of ranks one rank of each host sends to
// the other host, or where they take turns both do:
//
//   a: 0 1   b: 2 3     0 → 1 ═▶ 2 → 3 ═▶ 0
//   a: 0 2   b: 1 3     0 ═▶ 1 ═▶ 2 ═▶ 3 ═▶ 0
class RankOrderTest : public ReplayTest {
 protected:
  std::optional<Replay> run(const std::vector<std::size_t>& nodes, bool is_full = true) {
    Exchanges ranks(nodes.size());
    for (int step = 0; step < kSteps; ++step) {
      const double begin = 1000 + step * 100;
      for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        ranks[rank].push_back(all_reduce(nodes[rank], step, begin + 60, begin + 100, 4e7));
        ranks[rank].back().rank = static_cast<std::int64_t>(rank);
      }
    }
    return replay(ranks, 100, {.path = {.rate_mbps = 4000, .rtt_ms = 0.001}, .is_full = is_full});
  }
};

TEST_F(RankOrderTest, TwiceAsManyOnAFullLinkTakeTwiceAsLong) {
  const auto beside = run({0, 0, 1, 1});
  ASSERT_TRUE(beside);
  EXPECT_NEAR(beside->step_ms({.rank_order = {0, 2, 1, 3}}).value_or(0), 60 + 80, 0.5);
  EXPECT_NEAR(beside->step_ms({.rank_order = {2, 3, 0, 1}}).value_or(0), 60 + 40, 0.5);
  const auto in_turns = run({0, 1, 0, 1});
  ASSERT_TRUE(in_turns);
  EXPECT_NEAR(in_turns->step_ms({.rank_order = {0, 2, 1, 3}}).value_or(0), 60 + 20, 0.5);
}

// On a link of 4 Gb/s in frames the exchange, which the hosts hold to as much, has the half.
TEST_F(RankOrderTest, WhatDidNotFillTheLinkTakesLongerOnlyIfItThenDoes) {
  const auto in_turns = run({0, 1, 0, 1}, false);
  ASSERT_TRUE(in_turns);
  EXPECT_NEAR(in_turns->step_ms({.rank_order = {0, 2, 1, 3}}).value_or(0), 60 + 40, 0.5);
  EXPECT_GT(run({0, 0, 1, 1}, false)->step_ms({.rank_order = {0, 2, 1, 3}}).value_or(0), 60 + 75);
}

TEST_F(RankOrderTest, NotWhereAGroupLeavesTheNetwork) {
  const auto of_two = run({0, 1});
  ASSERT_TRUE(of_two);
  EXPECT_TRUE(of_two->step_ms({.rank_order = {1, 0}}));
  EXPECT_FALSE(of_two->step_ms({.rank_order = {0, 0}}));
  EXPECT_FALSE(of_two->step_ms({.rank_order = {0}})) << "of which not all ranks are told";
}

// Four buckets of 25 ms each, one behind the other, while computing goes on: it ends when the last
// one begins at the latest.
//
//   computes 100 ├ bucket 25 ┤ bucket 25 ┤ bucket 25 ┤ bucket 25 │
class BucketsTest : public ReplayTest {
 protected:
  // With flags: a small one follows, which one rank has at once and the other after 2 ms.
  static Exchanges exchanges(bool with_flags = false) {
    Exchanges ranks(2);
    const int in_step = with_flags ? 5 : 4;
    for (int step = 0; step < kSteps; ++step) {
      for (const std::size_t rank : {0U, 1U}) {
        const double begin = 1000 + step * (with_flags ? 203 : 200);
        for (int bucket = 0; bucket < 4; ++bucket) {
          const double ready = begin + 100 + bucket * 25;
          ranks[rank].push_back(all_reduce(rank, step * in_step + bucket, ready, ready + 25, 1e7));
        }
        if (with_flags) {
          const double ready = begin + 200 + (rank == 0 ? 0.2 : 2);
          ranks[rank].push_back(all_reduce(rank, step * in_step + 4, ready, begin + 203, 16));
        }
        for (Exchange& each : ranks[rank]) each.rank = static_cast<std::int64_t>(rank);
      }
    }
    return ranks;
  }

  static double half(const Replay& replay) {
    return replay.step_ms(std::vector<CauseShares>(kSteps, {.transfer = 1}), 0.5);
  }
};

TEST_F(BucketsTest, HalvingThemGainsHalfWhereNothingIsHidden) {
  phases_.hidden_ms = 0;
  EXPECT_NEAR(half(*replay(exchanges(), 200)), 150, 1);
}

// A backward pass of 100 / (0.5 + 1/4) = 133 ms, of which 75 ms were hidden: its three other
// quarters, scaled to that, take 25 ms each. The first bucket's end gains nothing, the last one's
// 12.5 ms.
TEST_F(BucketsTest, HalvingThemGainsWhatComputingDoesNotHide) {
  phases_.hidden_ms = 75;
  EXPECT_NEAR(half(*replay(exchanges(), 200)), 187.5, 1);
}

TEST_F(BucketsTest, OtherBucketsAreHeldAgainstTheSameOnesCutAlike) {
  phases_.hidden_ms = 75;
  const auto recorded = replay(exchanges(), 200, {.path = {.rate_mbps = 1600}, .is_full = true});
  EXPECT_NEAR(*recorded->step_ms({.overlap = 1}), 200, 1);
  // Behind all computing, which ends at 175 ms, they take 100 ms.
  EXPECT_NEAR(*recorded->step_ms({.overlap = 0}), 275, 1);
  // One bucket of all 20 MB waits for the end of computing, too.
  EXPECT_NEAR(*recorded->step_ms({.bucket_bytes = 1e8}), 275, 12);
}

TEST_F(BucketsTest, AFlagThatFollowsIsNoBucket) {
  phases_.hidden_ms = 75;
  const auto recorded =
      replay(exchanges(true), 203, {.path = {.rate_mbps = 1600}, .is_full = true});
  ASSERT_TRUE(recorded);
  const auto behind = recorded->step_ms({.overlap = 0});
  ASSERT_TRUE(behind);
  EXPECT_NEAR(*behind, 278, 1);
}

TEST_F(ReplayTest, NothingToReplayWithoutExchanges) { EXPECT_FALSE(replay(Exchanges(2), 100)); }

}  // namespace
}  // namespace chokepoint::analysis
