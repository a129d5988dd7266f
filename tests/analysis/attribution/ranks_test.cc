#include "analysis/attribution/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/diagnose.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

// Four hosts in a ring that exchange for 20 of every 100 ms.
class Ranks : public testing::Test {
 protected:
  explicit Ranks(std::int64_t steps = 30) : made_({.steps = steps}) {
    for (const char* name : {"a", "b", "c", "d"}) {
      made_.host(name);
    }
    for (const auto& [from, to] : {std::pair("a", "b"), {"b", "c"}, {"c", "d"}, {"d", "a"}}) {
      MadeTraffic way = full_link();
      way.busy_ms = 20;
      made_.add_traffic(made_.connect(from, to), Direction::AToB, way);
    }
  }
  Diagnosis late(const std::vector<double>& late_ms) {
    made_.collectives(20, late_ms);
    Diagnosis found = diagnose(made_.data);
    expect_sound(found);
    return found;
  }

  MadeRun made_;
};

// As with local SGD: in every third step they exchange, in others not.
class RanksThatSeldomMeet : public Ranks {
 protected:
  static constexpr std::int64_t kSteps = 120;
  static constexpr std::size_t kEvery = 3;
  RanksThatSeldomMeet() : Ranks(kSteps) {}

  // `late_ms` of a rank at a meeting, by their numbers.
  template <class LateMs>
  Diagnosis late_at(const LateMs& late_ms) {
    made_.collectives(20, {0, 0, 0, 0});
    for (std::size_t place = 0; place < made_.data.nodes.size(); ++place) {
      auto& rows = made_.data.nodes[place].collectives;
      std::vector<record::Collective> kept;
      for (std::size_t step = 0; step < rows.size(); step += kEvery) {
        // Who is not late came earlier.
        const auto early_ns =
            static_cast<std::int64_t>((90 - late_ms(place, step / kEvery)) * 1'000'000);
        rows[step].own_ready_ns = rows[step].own_ready_ns.value() - early_ns;
        rows[step].start_ns -= early_ns;
        kept.push_back(rows[step]);
      }
      rows = std::move(kept);
    }
    Diagnosis found = diagnose(made_.data);
    expect_sound(found);
    return found;
  }
};

TEST_F(Ranks, TheOneThatAllWaitForIsNamed) {
  const Diagnosis found = late({1, 0, 31, 1});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::LateRank);
  EXPECT_EQ(found.verdict.where.node, "c");
  EXPECT_EQ(found.verdict.where.rank, 2);
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 30, 1);
  EXPECT_NEAR((*found.accounting)[Account::Straggler], 30, 1);
  EXPECT_NEAR((*found.accounting)[Account::Link], 20, 1);
}

// Ranks 2 and 7 exchange inside c, of which NCCL tells nothing; each meets ranks of other hosts.
TEST_F(Ranks, OfThoseThatWaitForEachOtherUnseenTheHostIsNamed) {
  made_.collectives(20, {1, 0, 31, 1});
  for (std::size_t place = 0; place < made_.data.nodes.size(); ++place) {
    std::vector<record::Collective> rows = std::move(made_.data.nodes[place].collectives);
    for (record::Collective& row : rows) {
      row.source = record::CollectiveSource::Nccl;
      row.rank = static_cast<std::int64_t>(place);
      row.communicator = 1 << 22;
    }
    const std::vector<record::Collective> first = rows;
    for (record::Collective row : first) {
      row.rank = static_cast<std::int64_t>(place) + 5;
      row.communicator = (1 << 22) + 1;
      rows.push_back(row);
      row.communicator = static_cast<std::int64_t>((1U << 22U) + 2 + place);
      row.own_ready_ns = row.peer_ready_ns = row.first_data_ns = row.last_data_ns = {};
      row.end_ns = row.start_ns;
      rows.push_back(row);
      row.rank = static_cast<std::int64_t>(place);
      rows.push_back(row);
    }
    made_.data.nodes[place].collectives = std::move(rows);
  }
  const Diagnosis found = diagnose(made_.data);
  expect_sound(found);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::LateGroup);
  EXPECT_EQ(found.verdict.where.node, "c");
  EXPECT_EQ(found.verdict.where.rank, std::nullopt);
  ASSERT_FALSE(found.verdict.evidence.empty());
  EXPECT_TRUE(found.verdict.evidence[0].what.starts_with("ranks 2, 7 come late together"));
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 30, 1);
}

// Which core a rank gets, and what shares it, is chance; so much is not.
TEST_F(Ranks, DifferByChanceWhereTheJobFillsTheProcessors) {
  made_.counter(made_.node("c"), record::kPressureSome, "cpu", 0.2e9);
  const Diagnosis found = late({0, 0, 12, 0});
  EXPECT_NE(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_NEAR((*found.accounting)[Account::Straggler], 12, 1);
}

TEST_F(Ranks, AreLateByMoreThanChanceOnFullProcessors) {
  made_.counter(made_.node("c"), record::kPressureSome, "cpu", 0.2e9);
  EXPECT_EQ(late({0, 0, 31, 0}).verdict.verdict, VerdictClass::Straggler);
}

// By up to 60 ms: of few steps nobody can say whether it goes on.
TEST_F(Ranks, AreNotToldOfFewStepsInWhichTheyWereLateByWhatEver) {
  const auto verdict_after = [&](std::size_t steps) {
    made_.collectives(20, {0, 0, 0, 0});
    for (std::size_t place = 0; place < made_.data.nodes.size(); ++place) {
      auto& rows = made_.data.nodes[place].collectives;
      rows.resize(steps);
      for (std::size_t step = 0; step < rows.size(); ++step) {
        const auto early_ns =
            place == 2 ? 0 : static_cast<std::int64_t>(step * step * 7 % 31) * 2'000'000;
        rows[step].own_ready_ns = rows[step].own_ready_ns.value() - early_ns;
        rows[step].start_ns -= early_ns;
      }
      made_.data.nodes[place].steps.resize(steps);
    }
    return diagnose(made_.data).verdict.verdict;
  };
  EXPECT_EQ(verdict_after(30), VerdictClass::Straggler);
  EXPECT_NE(verdict_after(14), VerdictClass::Straggler);
  EXPECT_EQ(verdict_after(4), VerdictClass::Unknown);
}

// As where NCCL's messages are asked for only now and then: of six steps three were seen. What the
// rank was late by in the others belongs to none of them.
TEST_F(Ranks, OfWhichNotAllStepsWereSeenAreLateInThoseThatWere) {
  for (NodeData& node : made_.data.nodes) {
    std::vector<record::Step> seen;
    for (std::size_t step = 0; step < node.steps.size(); ++step) {
      const std::size_t place = step % 6;
      if (place == 0 || place == 1 || place == 3) {
        seen.push_back(node.steps[step]);
      }
    }
    node.steps = seen;
  }
  EXPECT_EQ(late({0, 0, 31, 0}).verdict.verdict, VerdictClass::Straggler);
}

// In each step c puts something to a server for 5 ms, which answers 20 ms later.
TEST_F(Ranks, AreLateForWhatTheyMoveBesideTheExchange) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  NodeData& node = made_.node("c");
  FlowData put{.row = {.protocol = "tcp",
                       .a_address = "10.0.0.3",
                       .a_port = 50'000,
                       .b_address = "10.9.0.1",
                       .b_port = 9'000,
                       .local_end = 0,
                       .interface = "eth0",
                       .content = "http",
                       .job = 1}};
  for (std::int64_t step = 0; step < 30; ++step) {
    const std::int64_t begin_ns = made_.span().start_ns + (step * 100 + 10) * kMillisecond;
    put.packets[0].push_back({.t_ns = begin_ns + 5 * kMillisecond,
                              .bin_ns = 5 * kMillisecond,
                              .payload_bytes = 1'000'000});
    put.packets[1].push_back(
        {.t_ns = begin_ns + 26 * kMillisecond, .bin_ns = kMillisecond, .payload_bytes = 100});
  }
  node.flows.push_back(put);
  const Diagnosis found = late({0, 0, 31, 0});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::Transfer);
  const auto moved = std::ranges::find_if(found.verdict.evidence, [](const Evidence& each) {
    return each.what.starts_with("meanwhile it moves data and checkpoints to or from 10.9.0.1");
  });
  ASSERT_NE(moved, found.verdict.evidence.end());
  EXPECT_NEAR(*moved->value, 26, 2);
  EXPECT_NEAR(*found.verdict.evidence.back().value, 20, 2);
  // Of the same bytes spread over the whole step no step waits.
  for (record::FlowSample& sample : node.flows.back().packets[0]) {
    sample.t_ns += 80 * kMillisecond;
    sample.bin_ns = 85 * kMillisecond;
  }
  for (NodeData& each : made_.data.nodes) {
    each.collectives.clear();
  }
  EXPECT_EQ(late({0, 0, 31, 0}).verdict.cause, Cause::LateRank);
}

TEST_F(Ranks, ComputeAndWaitForOthers) {
  const Diagnosis found = late({0, 0, 30, 0});
  ASSERT_EQ(found.ranks.size(), 4U);
  EXPECT_NEAR(found.ranks[2].computing_ms - found.ranks[0].computing_ms, 30, 1);
  EXPECT_NEAR(found.ranks[0].waiting_ms, 30, 1);
  EXPECT_NEAR(found.ranks[2].waiting_ms, 0, 1);
}

TEST_F(Ranks, ThatComeTogetherHoldNobodyUp) {
  EXPECT_NE(late({0.2, 0, 0.1, 0.3}).verdict.verdict, VerdictClass::Straggler);
}

TEST_F(Ranks, ThatComeLateByTurnsAreNotToBlame) {
  made_.collectives(20, {0, 0, 0, 0});
  for (std::size_t place = 0; place < made_.data.nodes.size(); ++place) {
    auto& rows = made_.data.nodes[place].collectives;
    for (std::size_t step = 0; step < rows.size(); ++step) {
      const std::int64_t early_ns = step % 4 == place ? 0 : 40'000'000;
      rows[step].own_ready_ns = rows[step].own_ready_ns.value() - early_ns;
      rows[step].start_ns -= early_ns;
    }
  }
  const Diagnosis found = diagnose(made_.data);
  expect_sound(found);
  EXPECT_NE(found.verdict.verdict, VerdictClass::Straggler);
  for (const Verdict& other : found.others) {
    EXPECT_NE(other.verdict, VerdictClass::Straggler);
  }
  EXPECT_NEAR((*found.accounting)[Account::Straggler], 40, 1);
}

// Rank 0 is 75 ms late in every fifth step.
TEST_F(Ranks, OneThatPausesNowAndThenIsToldEveryHowManySteps) {
  made_.collectives(5, {0, 0, 0, 0});
  for (std::size_t place = 1; place < made_.data.nodes.size(); ++place) {
    auto& rows = made_.data.nodes[place].collectives;
    for (std::size_t step = 0; step < rows.size(); step += 5) {
      rows[step].own_ready_ns = rows[step].own_ready_ns.value() - 75'000'000;
      rows[step].start_ns -= 75'000'000;
    }
  }
  const Diagnosis found = diagnose(made_.data);
  expect_sound(found);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::PeriodicPause);
  EXPECT_EQ(found.verdict.where.rank, 0);
  ASSERT_GE(found.verdict.evidence.size(), 2U);
  EXPECT_EQ(found.verdict.evidence[0].value, 5);
  EXPECT_NEAR(*found.verdict.evidence[1].value, 75, 1);
}

TEST_F(RanksThatSeldomMeet, AreLateByTurns) {
  const Diagnosis found = late_at([](std::size_t rank, std::size_t meeting) {
    return (meeting * meeting * 7 + meeting) % 4 == rank ? static_cast<double>(meeting * 11 % 60)
                                                         : 0.0;
  });
  EXPECT_NE(found.verdict.verdict, VerdictClass::Straggler);
}

TEST_F(RanksThatSeldomMeet, HaveALateOne) {
  const Diagnosis found =
      late_at([](std::size_t rank, std::size_t) { return rank == 2 ? 50.0 : 0.0; });
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::LateRank);
  EXPECT_EQ(found.verdict.where.rank, 2);
  ASSERT_TRUE(found.rounds);
  EXPECT_EQ(found.rounds->every_steps, static_cast<std::int64_t>(kEvery));
  EXPECT_NEAR(found.rounds->inner_ms, 100, 1);
}

TEST_F(RanksThatSeldomMeet, HaveOneThatPausesEachThirdTime) {
  const Diagnosis found = late_at([](std::size_t rank, std::size_t meeting) {
    return rank == 2 && meeting % 3 == 0 ? 90.0 : 0.0;
  });
  EXPECT_EQ(found.verdict.cause, Cause::PeriodicPause);
  ASSERT_FALSE(found.verdict.evidence.empty());
  EXPECT_EQ(found.verdict.evidence[0].value, 9);
}

TEST_F(Ranks, ThatGetNoProcessorAreLateForThat) {
  made_.counter(made_.node("b"), record::kThreadCpu, "1/python3 (main)", 5e7);
  made_.counter(made_.node("b"), record::kThreadWait, "1/python3 (main)", 9e8);
  made_.counter(made_.node("b"), record::kOthersCpu, "backup", 9e8);
  const Diagnosis found = late({0, 30, 0, 0});
  EXPECT_EQ(found.verdict.cause, Cause::ProcessCpu);
  ASSERT_FALSE(found.verdict.advice.empty());
  EXPECT_EQ(found.verdict.advice[0].what, "keep backup off the processors of the job on b");
  made_.counter(made_.node("b"), record::kThrottled, "/pod", 9e8);
  EXPECT_EQ(diagnose(made_.data).verdict.advice[0].what,
            "raise the processor quota of cgroup /pod on b");
  EXPECT_TRUE(found.verdict.where.node == "b" || found.verdict.where.from == "b");
}

TEST_F(Ranks, TheOneThatWasKilledWentFirst) {
  EXPECT_FALSE(early_end(made_.data));
  for (const char* name : {"a", "b", "d"}) {
    made_.node(name).exit_status = 1;
  }
  made_.node("c").exit_status = 137;
  made_.node("c").span.end_ns += 5'000'000'000;  // it was noticed late
  const auto gone = early_end(made_.data);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->cause, Cause::RankGone);
  EXPECT_EQ(gone->where.rank, 2);
}

TEST_F(Ranks, OfThoseThatFailedTheFirstToEndWentFirst) {
  made_.node("b").exit_status = 1;
  made_.node("c").exit_status = 1;
  made_.node("c").span.end_ns -= 1'000'000'000;
  const auto gone = early_end(made_.data);
  EXPECT_EQ(gone->cause, Cause::RankGone);
  EXPECT_EQ(gone->where.rank, 2);
  EXPECT_FALSE(early_end({}));
}

TEST_F(Ranks, WhereAllFailedTheJobDid) {
  for (const std::int64_t status : {1, 130}) {
    for (NodeData& node : made_.data.nodes) {
      node.exit_status = status;
    }
    made_.node("b").span.end_ns -= status == 1 ? 1'000'000'000 : 0;
    const auto gone = early_end(made_.data);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->cause, Cause::JobFailed);
    EXPECT_EQ(sentence_of(*gone), "the job failed on every node");
    EXPECT_EQ(gone->where.node, "b");
    EXPECT_FALSE(gone->where.rank);
    ASSERT_EQ(gone->evidence.size(), made_.data.nodes.size());
    EXPECT_EQ(gone->evidence.front().what, "exit status on b");
    EXPECT_EQ(gone->evidence.front().value, static_cast<double>(status));
  }
}

}  // namespace
}  // namespace chokepoint::analysis
