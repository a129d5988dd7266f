#include "analysis/attribution/rank_places.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/attribution/causes.h"
#include "base/record/names.h"
#include "base/record/stacks.h"
#include "base/record/stall.h"

namespace chokepoint::analysis {
namespace {

class RankPlaces : public testing::Test {
 protected:
  RankPlaces() {
    run_.nodes.resize(2);
    run_.nodes[0].name = "a";
    run_.nodes[1].name = "b";
  }

  void is_in(std::size_t node, std::int64_t rank, const std::string& function, std::int64_t t_ns) {
    const record::Stacks stacks{
        .rank = rank,
        .pid = 17 + rank,
        .threads = {{.id = 17 + rank, .frames = {{function, "/a/train.py", 41}}}}};
    run_.nodes[node].events.push_back({.t_ns = t_ns,
                                       .kind = std::string(record::kStacks),
                                       .subject = fmt::format("rank {}", rank),
                                       .detail = record::text_of(stacks)});
  }
  Verdict with_places(Verdict verdict) const {
    add_places(run_, verdict);
    return verdict;
  }
  static Verdict of_rank(std::int64_t rank, const std::string& node) {
    return {.verdict = VerdictClass::Stalled,
            .cause = Cause::RankMissing,
            .where = {.node = node, .rank = rank, .collective = "all-reduce 641"}};
  }

  RunData run_;
};

TEST_F(RankPlaces, TheNewestOfTheRankIsInTheSentenceAndTheEvidence) {
  is_in(0, 0, "all_reduce", 100);
  is_in(1, 1, "newest", 200);
  is_in(1, 1, "older", 100);
  const Verdict verdict = with_places(of_rank(1, "b"));
  EXPECT_EQ(verdict.where.frame, "newest (train.py:41)");
  EXPECT_TRUE(sentence_of(verdict).ends_with("; rank 1 is in newest (train.py:41)"));
  ASSERT_EQ(verdict.evidence.size(), 1U);
  EXPECT_EQ(verdict.evidence[0].what, "rank 1 is in newest (train.py:41)");
  EXPECT_EQ(verdict.evidence[0].from, "event stacks of b");
}

TEST_F(RankPlaces, OfSeveralRanksEachIsEvidence) {
  is_in(0, 0, "load", 100);
  is_in(1, 1, "save", 100);
  is_in(1, 2, "wait", 100);
  Verdict verdict = of_rank(0, "");
  verdict.where.ranks = {0, 1};
  verdict = with_places(verdict);
  EXPECT_EQ(verdict.where.frame, "load (train.py:41)");
  ASSERT_EQ(verdict.evidence.size(), 2U);
  EXPECT_EQ(verdict.evidence[1].what, "rank 1 is in save (train.py:41)");
}

TEST_F(RankPlaces, WhereNobodyIsNamedTheFirstOnesAreShown) {
  for (int rank = 0; rank < 6; ++rank) {
    is_in(0, rank, "step", 100);
  }
  const Verdict verdict = with_places({.verdict = VerdictClass::Stalled, .where = {.node = "a"}});
  EXPECT_EQ(verdict.where.frame, "");
  EXPECT_EQ(verdict.evidence.size(), 4U);
}

TEST_F(RankPlaces, OfAStallThatIsOverTheySayNothing) {
  is_in(1, 1, "load", 100);
  run_.nodes[1].events.push_back({.t_ns = 200,
                                  .kind = std::string(record::kStall),
                                  .detail = record::text_of(record::Stall{})});
  EXPECT_EQ(with_places(of_rank(1, "b")).where.frame, "");
}

TEST_F(RankPlaces, OfAnotherNodeOrAnotherVerdictTheySayNothing) {
  is_in(0, 1, "load", 100);
  run_.nodes[1].events.push_back(
      {.t_ns = 1, .kind = std::string(record::kStacks), .subject = "rank 1", .detail = "{}"});
  EXPECT_EQ(with_places(of_rank(1, "b")).where.frame, "");
  Verdict late = of_rank(1, "a");
  late.verdict = VerdictClass::Straggler;
  EXPECT_TRUE(with_places(late).evidence.empty());
}

}  // namespace
}  // namespace chokepoint::analysis
