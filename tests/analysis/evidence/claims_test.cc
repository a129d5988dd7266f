#include "analysis/evidence/claims.h"

#include <gmock/gmock.h>

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using About = Claim::About;

// Of one process group, "0", of four ranks.
ToolFile dump(std::int64_t rank, std::int64_t completed, std::int64_t enqueued,
              const std::string& operation = "all_reduce", const std::string& sizes = "[[8]]") {
  GroupState state{
      .members = {0, 1, 2, 3}, .enqueued = enqueued, .completed = completed, .called = enqueued};
  for (std::int64_t number = completed + 1; number <= enqueued; ++number) {
    state.calls[number] = {.operation = operation, .sizes = sizes};
  }
  RankRecord own{.rank = rank};
  own.states["0"] = state;
  return {.tool = Tool::FlightRecorder, .file = "dump_" + std::to_string(rank), .ranks = {own}};
}

TEST(ClaimsOfDumps, NameTheRankThatDidNotComeAndThenWhoWaitsInWhichGroup) {
  const auto claims =
      claims_of({dump(0, 100, 105), dump(1, 100, 104), dump(2, 100, 100), dump(3, 100, 105)});
  ASSERT_THAT(claims, testing::SizeIs(2));
  EXPECT_EQ(claims[0].about, About::MissingRank);
  EXPECT_THAT(claims[0].rank, Optional(2));
  EXPECT_TRUE(claims[0].is_firm);
  EXPECT_GE(claims[0].confidence, 0.8);
  EXPECT_EQ(claims[0].collective, "all_reduce 101");
  EXPECT_THAT(claims[0].what, HasSubstr("rank 2 has not come to all_reduce 101 of group 0"));
  EXPECT_EQ(claims[0].from, "dump_0 and 3 more");
  EXPECT_EQ(claims[1].about, About::Waits);
}

TEST(ClaimsOfDumps, NameTheRankThatCalledSomethingElse) {
  const auto claims = claims_of(
      {dump(0, 7, 8), dump(1, 7, 8), dump(2, 7, 8), dump(3, 7, 8, "all_reduce", "[[9]]")});
  EXPECT_EQ(claims.at(0).about, About::OtherCall);
  EXPECT_THAT(claims[0].rank, Optional(3));
}

TEST(ClaimsOfDumps, SayThatOneIsNotThere) {
  const auto claims = claims_of({dump(0, 7, 8), dump(1, 7, 8), dump(2, 7, 8)});
  EXPECT_EQ(claims.at(0).about, About::MissingRank);
  EXPECT_THAT(claims[0].rank, Optional(3));
  EXPECT_LT(claims[0].confidence, 0.7);
  EXPECT_THAT(claims[0].what, HasSubstr("rank 3 has left no dump"));
}

// Who has not come is known; who has no dump may be another reason.
TEST(ClaimsOfDumps, AreWeakerWhereOneIsNotThere) {
  const auto all = claims_of({dump(0, 7, 8), dump(1, 7, 7), dump(2, 7, 8), dump(3, 7, 8)});
  const auto some = claims_of({dump(0, 7, 8), dump(1, 7, 7), dump(2, 7, 8)});
  EXPECT_THAT(some.at(0).rank, Optional(1));
  EXPECT_LT(some[0].confidence, all.at(0).confidence);
  EXPECT_THAT(some[0].what, HasSubstr("no dump of rank 3"));
}

TEST(ClaimsOfDumps, OfARunWithoutAnythingOpenAreThatNoneWaits) {
  const auto claims = claims_of({dump(0, 7, 7), dump(1, 7, 7), dump(2, 7, 7), dump(3, 7, 7)});
  EXPECT_THAT(claims, ElementsAre(AllOf(Field(&Claim::about, About::NoneWaits),
                                        Field(&Claim::is_firm, false))));
  EXPECT_THAT(claims_of({dump(0, 7, 9)}), ElementsAre(Field(&Claim::what, HasSubstr("only"))));
  EXPECT_THAT(claims_of({}), IsEmpty());
}

ToolFile traced(std::int64_t rank, std::vector<std::int64_t> lengths_us, int steps = 2) {
  RankRecord own{.rank = rank, .groups = {"0/allreduce"}};
  for (std::size_t at = 0; at < lengths_us.size(); ++at) {
    own.collectives.push_back({.group = 0, .number = at, .length_ns = 1000 * lengths_us[at]});
  }
  for (int step = 0; step < steps; ++step) {
    own.steps.push_back({1'000'000'000 * (step + 1LL), 1'000'000'000 * (step + 2LL)});
  }
  own.time = TraceTime{.has_kernels = true,
                       .window_ns = 2'000'000'000,
                       .computing_ns = 1,
                       .exposed_ns = 500'000'000};
  return {.tool = Tool::Profiler, .file = "trace", .ranks = {own}};
}

TEST(ClaimsOfTraces, NameTheRankWhosePartIsTheShortest) {
  const auto claims = claims_of(
      {traced(0, {900, 800, 850}), traced(1, {880, 810, 860}), traced(2, {100, 100, 90})});
  ASSERT_THAT(claims, Contains(Field(&Claim::about, About::LateRank)));
  EXPECT_THAT(claims[0].rank, Optional(2));
  // 780 + 700 + 760 us in two steps
  EXPECT_THAT(claims[0].value, Optional(DoubleNear(1.12, 1e-9)));
  EXPECT_EQ(claims[0].unit, "ms a step");
  EXPECT_EQ(claims[0].step_ms, 1000);
}

TEST(ClaimsOfTraces, NameNobodyWhereRanksAreLateByTurns) {
  const auto claims = claims_of({traced(0, {900, 100, 900, 100}), traced(1, {100, 900, 100, 900})});
  EXPECT_THAT(claims, testing::Not(Contains(Field(&Claim::about, About::LateRank))));
}

TEST(ClaimsOfTraces, SayHowLongAStepTakesAndWhatOfItIsCommunicationAlone) {
  const auto claims = claims_of({traced(0, {}), traced(1, {})});
  EXPECT_THAT(
      claims,
      ElementsAre(
          AllOf(Field(&Claim::about, About::Step), Field(&Claim::value, Optional(1000))),
          AllOf(Field(&Claim::about, About::Exposed), Field(&Claim::value, Optional(250)))));
}

TEST(ClaimsOfRas, NameDeadRanksAndThoseBehindOfTheJobsCommunicator) {
  ToolFile file{.tool = Tool::Ras, .file = "ras"};
  file.ras = {{.state = RasRank::State::Dead, .rank = 3, .host = "10.0.0.2", .is_world = true},
              {.state = RasRank::State::Behind,
               .rank = 1,
               .is_world = true,
               .operation = "AllReduce",
               .count = 4,
               .others = 6},
              {.state = RasRank::State::Dead, .rank = 0, .is_world = false}};
  const auto claims = claims_of({file});
  ASSERT_THAT(claims, testing::SizeIs(2));
  EXPECT_THAT(claims, Contains(AllOf(Field(&Claim::rank, Optional(3)), Field(&Claim::is_firm, true),
                                     Field(&Claim::what, "rank 3 on 10.0.0.2: counted as dead"))));
  EXPECT_THAT(claims,
              Contains(AllOf(Field(&Claim::rank, Optional(1)), Field(&Claim::is_firm, false),
                             Field(&Claim::what, HasSubstr("AllReduce 4, most others at 6")))));
}

TEST(ClaimsOfSlurm, SayHowTheJobEnded) {
  ToolFile file{.tool = Tool::Slurm, .file = "sacct"};
  file.jobs = {{.id = "7", .name = "train", .state = "FAILED", .exit_code = 1},
               {.id = "7.0", .state = "OUT_OF_MEMORY", .signal = 9, .nodes = "n2"},
               {.id = "7.1", .state = "COMPLETED"},
               {.id = "8", .state = "RUNNING"}};
  const auto claims = claims_of({file});
  EXPECT_THAT(claims, ElementsAre(Field(&Claim::what, "job 7 (train): FAILED"),
                                  Field(&Claim::what, "step 7.0: OUT_OF_MEMORY, signal 9 on n2")));
}

}  // namespace
}  // namespace chokepoint::analysis
