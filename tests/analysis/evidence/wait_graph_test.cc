#include "analysis/evidence/wait_graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Kind = WaitReason::Kind;

// What ranks' dumps show, in NCCL's form: members and a status of each group.
class Job {
 public:
  // `from` to `until` of the group's calls are open at the rank, all before are over.
  Job& open(std::int64_t rank, const std::string& group, std::vector<std::int64_t> members,
            std::int64_t from, std::int64_t until, Call model = {.operation = "all_reduce"}) {
    GroupState& state = state_of(rank, group, std::move(members));
    state.completed = from - 1;
    state.enqueued = state.called = until;
    for (std::int64_t number = from; number <= until; ++number) {
      model.order = order_;
      model.created_ns = 1'000'000'000 + 1000 * order_++;
      state.calls[number] = model;
    }
    return *this;
  }
  // It is in no call of the group, of which `last` was its last.
  Job& idle(std::int64_t rank, const std::string& group, std::vector<std::int64_t> members,
            std::int64_t last) {
    GroupState& state = state_of(rank, group, std::move(members));
    state.completed = state.enqueued = state.called = last;
    return *this;
  }
  Job& message(std::int64_t rank, const std::string& group, std::vector<std::int64_t> members,
               bool is_sent, std::int64_t from, std::int64_t to, std::int64_t number) {
    GroupState& state = state_of(rank, group, std::move(members));
    state.has_messages = true;
    state.message_number = number;
    state.messages.push_back({.what = is_sent ? fmt::format("send {}->{}", from, to)
                                              : fmt::format("recv {}<-{}", to, from),
                              .from = from,
                              .to = to,
                              .is_sent = is_sent,
                              .number = number,
                              .created_ns = 1'000'000'000 + 1000 * order_,
                              .order = order_});
    ++order_;
    return *this;
  }
  Job& strays(std::int64_t rank) {
    straying_.insert(rank);
    return *this;
  }

  WaitReason reason() const {
    std::vector<RankState> states;
    for (const auto& [rank, groups] : ranks_) {
      states.push_back({rank, &groups, straying_.contains(rank)});
    }
    return reason_of(states);
  }

 private:
  GroupState& state_of(std::int64_t rank, const std::string& group,
                       std::vector<std::int64_t> members) {
    GroupState& state = ranks_[rank][group];
    state.members = std::move(members);
    return state;
  }

  std::map<std::int64_t, std::map<std::string, GroupState>> ranks_;
  std::set<std::int64_t> straying_;
  std::int64_t order_ = 0;
};

TEST(TheReasonOfWaits, IsTheRankThatDidNotCome) {
  Job job;
  for (const std::int64_t rank : {0, 1, 3}) {
    job.open(rank, "0", {0, 1, 2, 3}, 101, 101 + rank);
  }
  job.idle(2, "0", {0, 1, 2, 3}, 100);
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::Missing);
  EXPECT_THAT(reason.ranks, ElementsAre(2));
  EXPECT_EQ(reason.call, "all_reduce 101");
  EXPECT_EQ(reason.waiting, 3U);
  EXPECT_EQ(reason.through_others, 0U);
  EXPECT_EQ(reason.sentence,
            "rank 2 has not come to all_reduce 101 of group 0; 3 others wait for it");
}

// Pipeline of two stages with two tensor-parallel ranks each: ranks 0 and 1 receive from 2 and 3.
TEST(TheReasonOfWaits, IsNoRankThatWaitsElsewhere) {
  Job job;
  job.open(2, "tp1", {2, 3}, 8, 12).idle(3, "tp1", {2, 3}, 7);
  for (const std::int64_t rank : {0, 1}) {
    job.message(rank, "all", {0, 1, 2, 3}, false, rank + 2, rank, 40);
    job.open(rank, "tp0", {0, 1}, 5, 9);
  }
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::Missing);
  EXPECT_THAT(reason.ranks, ElementsAre(3));
  EXPECT_EQ(reason.call, "all_reduce 8");
  EXPECT_EQ(reason.waiting, 3U);
  EXPECT_THAT(reason.groups, Not(IsEmpty()));
}

TEST(TheReasonOfWaits, MayBeRanksOfSeveralGroups) {
  Job job;
  job.open(0, "a", {0, 1}, 3, 3).idle(1, "a", {0, 1}, 2);
  job.open(2, "b", {2, 3}, 3, 3).idle(3, "b", {2, 3}, 2);
  const WaitReason reason = job.reason();
  EXPECT_THAT(reason.ranks, ElementsAre(1, 3));
  EXPECT_THAT(reason.sentence, AllOf(HasSubstr("of group a"), HasSubstr("of group b")));
}

// A rank whose GPU failed has called all that the others have.
TEST(TheReasonOfWaits, IsTheRankThatHasNotEndedWhatOthersHave) {
  Job job;
  for (const std::int64_t rank : {0, 1, 2}) {
    job.open(rank, "0", {0, 1, 2, 3}, 20, 30).open(rank, "1", {0, 1, 2, 3}, 7, 9);
  }
  job.open(3, "0", {0, 1, 2, 3}, 15, 30).open(3, "1", {0, 1, 2, 3}, 7, 9);
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::Unended);
  EXPECT_THAT(reason.ranks, ElementsAre(3));
  EXPECT_EQ(reason.call, "all_reduce 15");
  EXPECT_EQ(reason.waiting, 3U);
}

// With its times: a GPU that computes, or does not answer, begins nothing.
TEST(TheReasonOfWaits, IsTheRankWhoseGpuHasNotBegunWhatOthersHave) {
  Job job;
  for (const std::int64_t rank : {0, 1, 3}) {
    job.open(rank, "0", {0, 1, 2, 3}, 20, 20, {.operation = "all_reduce", .is_started = true});
  }
  job.open(2, "0", {0, 1, 2, 3}, 20, 20);
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::Unended);
  EXPECT_THAT(reason.ranks, ElementsAre(2));
  EXPECT_EQ(reason.waiting, 3U);
  // One that is in a call of another group is behind because of that.
  Job victim = job;
  victim.open(2, "1", {2, 4}, 5, 5, {.operation = "all_reduce", .is_started = true});
  victim.idle(4, "1", {2, 4}, 4);
  EXPECT_THAT(victim.reason().ranks, ElementsAre(4));
}

// The root of a broadcast ends when it has sent.
TEST(TheReasonOfWaits, IsNoRankThatWaitsForABroadcastThatItsRootHasEnded) {
  Job job;
  job.idle(0, "0", {0, 1}, 5).open(1, "0", {0, 1}, 5, 5, {.operation = "broadcast"});
  EXPECT_EQ(job.reason().kind, Kind::Hung);
}

TEST(TheReasonOfWaits, IsTheCallThatAllHaveBegunAndNoneHasEnded) {
  Job job;
  for (const std::int64_t rank : {0, 1, 2}) {
    job.open(rank, "0", {0, 1, 2}, 4, 4 + rank);
  }
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::Hung);
  EXPECT_EQ(reason.call, "all_reduce 4");
  EXPECT_THAT(reason.sentence, HasSubstr("none has ended it"));
}

// The path of rank 3 is cut while it is in a call with rank 2; the others wait for these.
TEST(TheReasonOfWaits, IsTheCallThatDoesNotEndOfAFew) {
  Job job;
  job.open(2, "b", {2, 3}, 9, 9).open(3, "b", {2, 3}, 9, 9);
  job.open(0, "even", {0, 2}, 9, 9).idle(2, "even", {0, 2}, 8);
  job.open(1, "odd", {1, 3}, 9, 9).idle(3, "odd", {1, 3}, 8);
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::Hung);
  EXPECT_THAT(reason.ranks, ElementsAre(2, 3));
  EXPECT_EQ(reason.waiting, 2U);
  EXPECT_EQ(reason.sentence,
            "ranks 2 and 3 are all in all_reduce 9 of group b, and none has ended it; 2 others "
            "wait for them");
}

TEST(TheReasonOfWaits, IsTheRankThatEnteredGroupsInAnotherOrder) {
  Job job;
  for (const std::int64_t rank : {0, 1, 2}) {
    job.open(rank, "a", {0, 1, 2, 3}, 6, 6).idle(rank, "b", {0, 1, 2, 3}, 9);
  }
  job.idle(3, "a", {0, 1, 2, 3}, 5).open(3, "b", {0, 1, 2, 3}, 10, 10);
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::Cycle);
  EXPECT_THAT(reason.ranks, ElementsAre(3));
  EXPECT_THAT(reason.sentence, AllOf(HasSubstr("group a"), HasSubstr("group b")));
}

// Of two ranks the one that did otherwise than before.
TEST(TheReasonOfWaits, IsTheRankThatLeftItsSequence) {
  Job job;
  job.open(0, "a", {0, 1}, 6, 6).idle(0, "b", {0, 1}, 9);
  job.idle(1, "a", {0, 1}, 5).open(1, "b", {0, 1}, 10, 10);
  EXPECT_THAT(Job(job).strays(0).reason().ranks, ElementsAre(0));
  EXPECT_THAT(Job(job).strays(1).reason().ranks, ElementsAre(1));
}

TEST(TheReasonOfWaits, IsTheCallThatRanksEnteredAsDifferentOnes) {
  Job job;
  for (const std::int64_t rank : {0, 1, 2}) {
    job.open(rank, "0", {0, 1, 2, 3}, 8, 8,
             {.operation = "all_reduce", .sizes = "[[8]]", .site = "train.py:10"});
  }
  Job kinds = job;
  kinds.open(3, "0", {0, 1, 2, 3}, 8, 8, {.operation = "broadcast", .site = "train.py:14"});
  EXPECT_EQ(kinds.reason().kind, Kind::Mismatch);
  EXPECT_THAT(kinds.reason().ranks, ElementsAre(3));
  EXPECT_EQ(kinds.reason().sentence,
            "rank 3 called broadcast at train.py:14 as call 8 of group 0, and ranks 0, 1 and 2 "
            "called all_reduce at train.py:10");
  Job sizes = job;
  sizes.open(3, "0", {0, 1, 2, 3}, 8, 8, {.operation = "all_reduce", .sizes = "[[9]]"});
  EXPECT_THAT(sizes.reason().sentence, AllOf(HasSubstr("[[9]]"), HasSubstr("[[8]]")));
  Job types = job;
  types.open(3, "0", {0, 1, 2, 3}, 8, 8,
             {.operation = "all_reduce", .sizes = "[[8]]", .types = "[Double]"});
  EXPECT_EQ(types.reason().kind, Kind::Mismatch);
}

// Each rank may give what it likes to these.
TEST(TheReasonOfWaits, AreNoOtherSizesOfAllToAll) {
  Job job;
  job.open(0, "0", {0, 1}, 8, 8, {.operation = "all_to_all", .sizes = "[[1]]"});
  job.open(1, "0", {0, 1}, 8, 8, {.operation = "all_to_all", .sizes = "[[2]]"});
  EXPECT_EQ(job.reason().kind, Kind::Hung);
}

TEST(TheReasonOfWaits, MayBeARankWithoutADump) {
  Job job;
  job.open(0, "0", {0, 1, 2}, 8, 8).open(1, "0", {0, 1, 2}, 8, 9);
  const WaitReason reason = job.reason();
  EXPECT_EQ(reason.kind, Kind::WithoutDump);
  EXPECT_THAT(reason.ranks, ElementsAre(2));
  EXPECT_THAT(reason.sentence, HasSubstr("left no dump"));
}

// A rank that has a dump and did not come is the reason, whoever's dump is missing.
TEST(TheReasonOfWaits, IsNoRankWithoutADumpWhereAnotherDidNotCome) {
  Job job;
  job.open(0, "0", {0, 1, 2}, 8, 8).idle(1, "0", {0, 1, 2}, 7);
  const WaitReason reason = job.reason();
  EXPECT_THAT(reason.ranks, ElementsAre(1));
  EXPECT_THAT(reason.without_dump, ElementsAre(2));
}

// Messages between two ranks are counted alike by both; in a larger group a message that the peer
// has none open for waits for it.
TEST(TheReasonOfWaits, MayBeThePeerOfAMessage) {
  Job two;
  two.message(4, "p", {4, 7}, true, 0, 1, 12).idle(7, "p", {4, 7}, 11);
  EXPECT_THAT(two.reason().ranks, ElementsAre(7));
  Job met;
  met.message(4, "p", {4, 7}, true, 0, 1, 12).message(7, "p", {4, 7}, false, 0, 1, 12);
  EXPECT_EQ(met.reason().kind, Kind::Hung);
  Job over;
  over.message(4, "p", {4, 7}, true, 0, 1, 12).idle(7, "p", {4, 7}, 12);
  EXPECT_EQ(over.reason().kind, Kind::Hung);  // its data are on the way
}

TEST(TheReasonOfWaits, IsNobodyWhereNothingIsOpen) {
  Job job;
  job.idle(0, "0", {0, 1}, 8).idle(1, "0", {0, 1}, 8);
  EXPECT_EQ(job.reason().kind, Kind::Nobody);
  EXPECT_EQ(reason_of({}).kind, Kind::Nobody);
}

TEST(TheReasonOfWaits, OfAThousandRanksIsOneSentence) {
  Job job;
  std::vector<std::int64_t> members;
  for (std::int64_t rank = 0; rank < 1000; ++rank) {
    members.push_back(rank);
  }
  for (std::int64_t rank = 0; rank < 1000; ++rank) {
    const std::vector<std::int64_t> pair{rank & ~1, rank | 1};
    if (rank == 77) {
      job.idle(rank, "0", members, 8).idle(rank, fmt::format("p{}", rank / 2), pair, 3);
    } else {
      job.open(rank, "0", members, 9, 9);
      job.open(rank, fmt::format("p{}", rank / 2), pair, 4, 4);
    }
  }
  const WaitReason reason = job.reason();
  EXPECT_THAT(reason.ranks, ElementsAre(77));
  EXPECT_EQ(reason.waiting, 999U);
  EXPECT_LT(reason.sentence.size(), 200U);
}

}  // namespace
}  // namespace chokepoint::analysis
