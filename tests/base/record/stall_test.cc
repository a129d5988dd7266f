#include "base/record/stall.h"

#include <gtest/gtest.h>

#include <deque>

namespace chokepoint::record {
namespace {

TEST(StallDetail, ReadsAsItWasWritten) {
  const Stall stall{.state = StallState::Stands,
                    .since_ns = 5,
                    .usual_ms = 80.5,
                    .limit_ms = 10'000,
                    .ranks = {{.rank = 3,
                               .pid = 17,
                               .does = RankDoes::Reads,
                               .file = "/data/\"x\"",
                               .stack = {"rpc_wait", "read"},
                               .collectives = {{.kind = "all-reduce", .number = 641}}}},
                    .paths = {{.flow = 7, .peer = "10.0.0.2", .unacked_packets = 3}}};
  const auto read = stall_in(text_of(stall));
  ASSERT_TRUE(read);
  EXPECT_EQ(text_of(*read), text_of(stall));
  EXPECT_EQ(read->ranks.at(0).does, RankDoes::Reads);
  EXPECT_EQ(read->ranks.at(0).file, "/data/\"x\"");
}

TEST(StallDetail, OfWhatIsNoneIsNone) {
  const std::string good = text_of(Stall{});
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), good.substr(0, good.size() / 2),
        std::string(
            R"({"state":"dances","since_ns":1,"usual_ms":1,"limit_ms":1,"ranks":[],"paths":[]})"),
        std::string(std::size_t{2} << 20, '[')}) {
    EXPECT_FALSE(stall_in(text)) << text.substr(0, 60);
  }
}

// Ranks of NCCL, by the newest of the collectives that each has asked for.
class CompareCollectives : public testing::Test {
 protected:
  StallRank& rank(RankDoes does, std::initializer_list<StallCollective> newest) {
    StallRank& rank = ranks_.emplace_back();
    rank.does = does;
    rank.collectives = newest;
    return rank;
  }
  static StallCollective newest(const char* kind, std::int64_t number, std::int64_t size = 8) {
    return {.kind = kind, .number = number, .is_entered = true, .communicator = 77, .size = size};
  }
  void compare() {
    std::vector<StallRank*> all;
    for (StallRank& rank : ranks_) all.push_back(&rank);
    compare_collectives(all);
  }

  std::deque<StallRank> ranks_;
};

TEST_F(CompareCollectives, TheLastOfAllIsAbsentAndThoseAheadWait) {
  StallRank& first = rank(RankDoes::Spins, {newest("all-reduce", 12)});
  StallRank& between = rank(RankDoes::Sleeps, {newest("all-reduce", 11)});
  StallRank& last = rank(RankDoes::Sleeps, {newest("all-reduce", 9)});
  compare();
  EXPECT_EQ(first.does, RankDoes::Waits);
  EXPECT_EQ(between.does, RankDoes::Waits);
  EXPECT_EQ(last.does, RankDoes::Absent);
  ASSERT_NE(waited_for(last), nullptr);
  EXPECT_EQ(text_of(*waited_for(last)), "all-reduce 10");
  EXPECT_EQ(text_of(*entered(first)), "all-reduce 12");
}

TEST_F(CompareCollectives, OneThatWorksWorksOn) {
  rank(RankDoes::Spins, {newest("all-reduce", 12)});
  StallRank& moves = rank(RankDoes::Moves, {newest("all-reduce", 11)});
  StallRank& spins = rank(RankDoes::Spins, {newest("all-reduce", 11)});
  compare();
  EXPECT_EQ(moves.does, RankDoes::Moves);
  EXPECT_EQ(spins.does, RankDoes::Spins);
  EXPECT_NE(waited_for(spins), nullptr);
}

TEST_F(CompareCollectives, WhoAskedForAnotherKindDiffers) {
  StallRank& one = rank(RankDoes::Spins, {newest("all-gather", 4), newest("all-reduce", 12)});
  StallRank& other = rank(RankDoes::Spins, {newest("all-gather", 5), newest("all-reduce", 11)});
  compare();
  EXPECT_EQ(one.does, RankDoes::Differs);
  EXPECT_EQ(other.does, RankDoes::Differs);
  EXPECT_EQ(text_of(*entered(one)), "all-reduce 12");
  EXPECT_EQ(text_of(*waited_for(one)), "all-gather 5");
}

// Rank 0 waits in a group with rank 1, and rank 2 in another group for rank 0.
TEST_F(CompareCollectives, WhoWaitsForOthersIsNotMissingWhereOthersWaitForIt) {
  const auto in = [](std::int64_t communicator, std::int64_t number) {
    StallCollective each = newest("all-reduce", number);
    each.communicator = communicator;
    return each;
  };
  StallRank& between = rank(RankDoes::Sleeps, {in(7, 50), in(8, 9)});
  StallRank& last = rank(RankDoes::Sleeps, {in(7, 49)});
  StallRank& first = rank(RankDoes::Sleeps, {in(8, 10)});
  compare();
  EXPECT_EQ(between.does, RankDoes::Waits);
  EXPECT_EQ(waited_for(between), nullptr);
  EXPECT_EQ(entered(between)->number, 50);
  EXPECT_EQ(last.does, RankDoes::Absent);
  EXPECT_EQ(first.does, RankDoes::Waits);
}

// As its node saw it, which has not the rank that it waits for itself.
TEST_F(CompareCollectives, OfMoreRanksTakesThePlaceOfAnEarlierOne) {
  StallCollective own = newest("all-reduce", 50);
  StallCollective others = newest("all-reduce", 9);
  others.communicator = 8;
  StallRank& between = rank(RankDoes::Sleeps, {own, others});
  others.number = 10;
  rank(RankDoes::Sleeps, {others});
  compare();
  EXPECT_EQ(between.does, RankDoes::Absent);
  StallRank& last = rank(RankDoes::Sleeps, {newest("all-reduce", 49)});
  compare();
  EXPECT_EQ(between.does, RankDoes::Waits);
  EXPECT_EQ(last.does, RankDoes::Absent);
}

// Each has called what the other has not, in two groups.
TEST_F(CompareCollectives, WhoEnterGroupsInAnotherOrderDiffer) {
  StallCollective other = newest("all-reduce", 9);
  other.communicator = 8;
  StallRank& one = rank(RankDoes::Sleeps, {newest("all-reduce", 50), other});
  other.number = 10;
  StallRank& two = rank(RankDoes::Sleeps, {newest("all-reduce", 49), other});
  compare();
  EXPECT_EQ(one.does, RankDoes::Differs);
  EXPECT_EQ(two.does, RankDoes::Differs);
}

TEST_F(CompareCollectives, WhoseBufferHasAnotherSizeDiffers) {
  StallRank& one = rank(RankDoes::Spins, {newest("all-reduce", 12, 4'000)});
  StallRank& odd = rank(RankDoes::Sleeps, {newest("all-reduce", 12, 8'000)});
  StallRank& two = rank(RankDoes::Spins, {newest("all-reduce", 12, 4'000)});
  compare();
  EXPECT_EQ(odd.does, RankDoes::Differs);
  EXPECT_EQ(waited_for(odd)->size, 4'000);
  EXPECT_EQ(one.does, RankDoes::Spins);
  EXPECT_EQ(two.does, RankDoes::Spins);
}

TEST_F(CompareCollectives, AKindThatARankHasNeverAskedForIsBehindToo) {
  rank(RankDoes::Spins, {newest("all-reduce", 12), newest("all-gather", 0)});
  StallRank& last = rank(RankDoes::Sleeps, {newest("all-reduce", 12)});
  compare();
  EXPECT_EQ(last.does, RankDoes::Absent);
  EXPECT_EQ(text_of(*waited_for(last)), "all-gather 0");
}

TEST_F(CompareCollectives, WhereAllAreEquallyFarNothingIsSaid) {
  for (const RankDoes does : {RankDoes::Spins, RankDoes::Sleeps}) {
    rank(does, {newest("all-reduce", 12)});
  }
  compare();
  EXPECT_EQ(ranks_[0].does, RankDoes::Spins);
  EXPECT_EQ(ranks_[1].does, RankDoes::Sleeps);
}

TEST_F(CompareCollectives, OfGlooNothingIsCompared) {
  StallCollective gloo = newest("all-reduce", 12);
  gloo.communicator = 0;
  rank(RankDoes::Sleeps, {newest("all-reduce", 3)});
  rank(RankDoes::Sleeps, {gloo});
  compare();
  EXPECT_EQ(ranks_[0].does, RankDoes::Sleeps);
}

}  // namespace
}  // namespace chokepoint::record
