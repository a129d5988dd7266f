#include "base/record/stall.h"

#include <gtest/gtest.h>

#include <tuple>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/diagnose.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using record::RankDoes;
using record::StallCollective;
using record::StallRank;
using record::StallState;

constexpr std::int64_t kSecond = 1'000'000'000;

// Three hosts that stand for 40 s behind 30 steps; the run is being recorded.
class OfAStall : public testing::Test {
 protected:
  OfAStall() {
    for (const char* name : {"a", "b", "c"}) {
      NodeData& node = made_.host(name);
      node.is_complete = false;
      node.exit_status = {};
      node.span.end_ns += 40 * kSecond;
    }
    ab_ = made_.connect("a", "b");
    made_.add_traffic(ab_, Direction::AToB, {.busy_ms = 10});
    made_.collectives(10, {0, 0, 0});
  }

  static StallRank rank(std::int64_t number, RankDoes does) {
    return {.rank = number, .pid = 17 + number, .does = does, .for_s = 30, .waits_in = "here"};
  }
  static StallCollective open(const char* kind, bool is_entered, bool is_peer) {
    return {.kind = kind, .number = 641, .is_entered = is_entered, .is_peer_there = is_peer};
  }
  static StallRank waiting(std::int64_t number) {
    StallRank rank = OfAStall::rank(number, RankDoes::Waits);
    rank.collectives = {open("all-reduce", true, false)};
    return rank;
  }

  void stands(const std::string& node, const StallRank& rank, StallState state = StallState::Stands,
              const std::vector<record::StallPath>& paths = {}) {
    made_.node(node).events.push_back({.t_ns = made_.span().end_ns + 30 * kSecond,
                                       .kind = std::string(record::kStall),
                                       .detail = record::text_of({.state = state,
                                                                  .since_ns = made_.span().end_ns,
                                                                  .usual_ms = 100,
                                                                  .limit_ms = 10'000,
                                                                  .ranks = {rank},
                                                                  .paths = paths})});
  }
  Verdict verdict() const {
    const Diagnosis found = diagnose(made_.data);
    expect_sound(found);
    return found.verdict;
  }

  MadeRun made_{{.steps = 30}};
  std::size_t ab_ = 0;
};

TEST_F(OfAStall, ARankThatDidNotComeIsMissing) {
  stands("a", waiting(0), StallState::Waits);
  StallRank absent = rank(1, RankDoes::Absent);
  absent.collectives = {open("all-reduce", false, true)};
  stands("b", absent);
  stands("c", waiting(2), StallState::Waits);
  const Verdict found = verdict();
  EXPECT_EQ(found.verdict, VerdictClass::Stalled);
  EXPECT_EQ(found.cause, Cause::RankMissing);
  EXPECT_EQ(found.where.rank, 1);
  EXPECT_EQ(sentence_of(found),
            "rank 1 on b has not come to all-reduce 641, and the others wait for it");
  ASSERT_GE(found.evidence.size(), 3U);
  EXPECT_NEAR(*found.evidence[0].value, 40, 1) << found.evidence[0].what;
  EXPECT_EQ(found.evidence.back().what, "ranks that wait in all-reduce 641");
  EXPECT_EQ(found.evidence.back().value, 2);
}

// Each node for itself sees ranks that poll and ranks that sleep.
TEST_F(OfAStall, OfNcclTheRankThatIsBehindIsMissing) {
  const auto asked = [](std::int64_t number) {
    return StallCollective{
        .kind = "all-reduce", .number = number, .is_entered = true, .communicator = 77};
  };
  for (const auto& [node, number] : {std::pair{"a", 0}, std::pair{"c", 2}}) {
    StallRank spins = rank(number, RankDoes::Spins);
    spins.collectives = {asked(641)};
    stands(node, spins, StallState::Moves);
  }
  StallRank sleeps = rank(1, RankDoes::Sleeps);
  sleeps.collectives = {asked(640)};
  stands("b", sleeps, StallState::Waits);
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::RankMissing);
  EXPECT_EQ(found.where.rank, 1);
  EXPECT_EQ(found.where.collective, "all-reduce 641");
  EXPECT_EQ(found.evidence.back().value, 2) << "ranks that wait";
}

TEST_F(OfAStall, OfNcclABufferOfAnotherSizeIsAMismatch) {
  std::int64_t size = 4'000;
  for (const auto& [node, number] : {std::pair{"a", 0}, std::pair{"b", 1}, std::pair{"c", 2}}) {
    StallRank spins = rank(number, RankDoes::Spins);
    spins.collectives = {{.kind = "all-reduce",
                          .number = 641,
                          .is_entered = true,
                          .communicator = 77,
                          .size = number == 1 ? 2 * size : size}};
    stands(node, spins, StallState::Moves);
  }
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::Mismatch);
  EXPECT_EQ(found.where.rank, 1);
  EXPECT_EQ(found.where.collective, "all-reduce 641");
}

TEST_F(OfAStall, OneThatIsStoppedExplainsOthers) {
  stands("a", waiting(0), StallState::Waits);
  stands("b", rank(1, RankDoes::Stopped));
  EXPECT_EQ(verdict().cause, Cause::RankStopped);
}

TEST_F(OfAStall, OneThatHangsNamesItsMount) {
  StallRank hangs = rank(2, RankDoes::Reads);
  hangs.mount = "/data";
  hangs.file = "/data/train-1";
  stands("c", hangs);
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::RankBlockedIo);
  EXPECT_EQ(found.where.mount, "/data");
}

TEST_F(OfAStall, ALoopIsBusy) {
  StallRank spins = rank(2, RankDoes::Spins);
  spins.collectives = {open("all-reduce", false, true)};
  stands("c", spins);
  EXPECT_EQ(verdict().cause, Cause::RankBusy);
}

TEST_F(OfAStall, RanksInTwoCollectivesAreAMismatch) {
  StallRank differs = rank(1, RankDoes::Differs);
  differs.collectives = {open("broadcast", true, false), open("all-reduce", false, true)};
  stands("b", differs);
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::Mismatch);
  EXPECT_EQ(found.where.collective, "broadcast 641");
}

TEST_F(OfAStall, OfThreeRanksTheOneThatIsAloneDiffers) {
  for (const auto& [node, kind, other] :
       {std::tuple{"a", "all-reduce", "broadcast"}, std::tuple{"b", "broadcast", "all-reduce"},
        std::tuple{"c", "all-reduce", "broadcast"}}) {
    StallRank differs = rank(node[0] - 'a', RankDoes::Differs);
    differs.collectives = {open(kind, true, false), open(other, false, true)};
    stands(node, differs);
  }
  EXPECT_EQ(verdict().where.rank, 1);
}

TEST_F(OfAStall, ALoopThatItsNodeHasPatienceWithIsNone) {
  StallRank spins = rank(2, RankDoes::Spins);
  spins.collectives = {open("all-reduce", false, true)};
  stands("c", spins, StallState::Moves);
  const Diagnosis found = diagnose(made_.data);
  EXPECT_NE(found.verdict.verdict, VerdictClass::Stalled);
  EXPECT_EQ(found.pause,
            "no step has ended for 40 s: rank 2 on c works, and the others wait for it in "
            "all-reduce 641; an evaluation, a checkpoint, a compiler or a loop without end, which "
            "is not known yet");
}

// Libraries poll while they wait.
TEST_F(OfAStall, WhereTheOthersSpinAHangIsTold) {
  stands("a", rank(0, RankDoes::Spins), StallState::Moves);
  stands("b", rank(1, RankDoes::Reads));
  EXPECT_EQ(verdict().cause, Cause::RankBlockedIo);
}

TEST_F(OfAStall, AHostWhoseRecordEndsHasGone) {
  stands("a", waiting(0), StallState::Waits);
  made_.node("c").span.end_ns -= 30 * kSecond;
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::HostGone);
  EXPECT_EQ(found.where.node, "c");
}

TEST_F(OfAStall, PacketsThatNobodyAcknowledgesAreADeadPath) {
  const std::int64_t flow = made_.node("a").flows.front().row.id;
  stands("a", waiting(0), StallState::Stands,
         {{.flow = flow, .peer = "10.0.0.2", .for_s = 30, .unacked_packets = 3}});
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::PathDead);
  EXPECT_EQ(found.where.from, "a");
  EXPECT_EQ(found.where.to, "b");
}

TEST_F(OfAStall, APeerWithoutARecordIsNamedByItsAddress) {
  stands("a", waiting(0), StallState::Stands, {{.peer = "10.0.0.9", .unacked_packets = 3}});
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::PeerGone);
  EXPECT_EQ(found.where.to, "10.0.0.9");
}

// An evaluation of rank 0: the others wait for it.
TEST_F(OfAStall, WhereARankWorksNothingIsSaid) {
  stands("a", rank(0, RankDoes::Moves), StallState::Moves);
  stands("b", waiting(1), StallState::Waits);
  EXPECT_NE(verdict().verdict, VerdictClass::Stalled);
}

// A watchdog writes its dump, and ends the job.
TEST_F(OfAStall, WhatARankDoesAtAFailedJobsEndIsNoWork) {
  StallRank absent = rank(1, RankDoes::Absent);
  absent.collectives = {open("all-reduce", false, true)};
  stands("a", waiting(0), StallState::Waits);
  stands("b", absent);
  for (const auto& [node, number] : {std::pair{"a", 0}, std::pair{"b", 1}}) {
    stands(node, rank(number, RankDoes::Moves), StallState::Moves);
    made_.node(node).events.back().t_ns += 8 * kSecond;
  }
  EXPECT_NE(verdict().verdict, VerdictClass::Stalled) << "it may go on";
  for (const char* node : {"a", "b"}) {
    made_.node(node).is_complete = true;
    made_.node(node).exit_status = 1;
  }
  EXPECT_EQ(verdict().cause, Cause::RankMissing);
  EXPECT_EQ(verdict().where.rank, 1);
  for (const char* node : {"a", "b"}) {
    made_.node(node).span.end_ns += 30 * kSecond;
  }
  EXPECT_NE(verdict().cause, Cause::RankMissing) << "it worked for long";
}

TEST_F(OfAStall, RanksThatOnlyWaitSayNothingYet) {
  stands("a", waiting(0), StallState::Waits);
  EXPECT_NE(verdict().verdict, VerdictClass::Stalled);
}

TEST_F(OfAStall, ANodeOutOfPatienceSaysThatItStands) {
  stands("a", waiting(0));
  const Verdict found = verdict();
  EXPECT_EQ(found.verdict, VerdictClass::Stalled);
  EXPECT_EQ(found.cause, Cause::None);
}

TEST_F(OfAStall, OneThatIsOverIsNone) {
  stands("b", rank(1, RankDoes::Stopped));
  stands("b", rank(1, RankDoes::Sleeps), StallState::Over);
  EXPECT_NE(verdict().verdict, VerdictClass::Stalled);
}

TEST_F(OfAStall, AJobThatEndedWellWasInNone) {
  stands("b", rank(1, RankDoes::Stopped));
  for (NodeData& node : made_.data.nodes) {
    node.exit_status = 0;
    node.is_complete = true;
  }
  EXPECT_NE(verdict().verdict, VerdictClass::Stalled);
}

TEST_F(OfAStall, ADetailThatCannotBeReadSaysNothing) {
  made_.node("b").events.push_back({.t_ns = made_.span().end_ns,
                                    .kind = std::string(record::kStall),
                                    .detail = R"({"state":"stands"})"});
  EXPECT_NE(verdict().verdict, VerdictClass::Stalled);
}

}  // namespace
}  // namespace chokepoint::analysis
