#include "analysis/attribution/given_claims.h"

#include <gmock/gmock.h>

#include "analysis/attribution/causes.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;
using About = Claim::About;

constexpr std::int64_t kWallNs = 1'795'000'000'000'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;

class GivenClaims : public testing::Test {
 protected:
  GivenClaims() {
    made_.host("a");
    made_.host("b");
    for (NodeData& node : made_.data.nodes) {
      node.wall_start_ns = kWallNs;
    }
  }

  Diagnosis diagnosis(const std::vector<Claim>& claims) {
    Inquiry inquiry = inquire(made_.data);
    without_ = inquiry.diagnosis;
    hold_against(claims, made_.data, {}, inquiry);
    expect_sound(inquiry.diagnosis.verdict);
    return inquiry.diagnosis;
  }

  // b comes 30 ms after a to each exchange.
  void make_late() {
    made_.add_traffic(made_.connect("a", "b"), Direction::AToB, {.busy_ms = 30, .mbps = 900});
    made_.collectives(20, {0, 30});
  }

  static Claim late(std::int64_t rank, double ms) {
    return {.tool = Tool::Profiler,
            .about = About::LateRank,
            .what = "rank comes last",
            .rank = rank,
            .value = ms,
            .unit = "ms a step",
            .step_ms = 100,
            .from = "trace.json"};
  }
  static Claim missing(std::int64_t rank) {
    return {.tool = Tool::FlightRecorder,
            .about = About::MissingRank,
            .what = "rank has not come",
            .rank = rank,
            .collective = "all_reduce 7",
            .is_firm = true,
            .from = "dump_0"};
  }

  MadeRun made_{{.step_ms = 100, .steps = 20}};
  Diagnosis without_;
};

TEST_F(GivenClaims, OfTheSameLateRankAreEvidence) {
  make_late();
  const Diagnosis found = diagnosis({late(1, 28)});
  ASSERT_EQ(without_.verdict.verdict, VerdictClass::Straggler);
  EXPECT_THAT(found.given, ElementsAre(AllOf(Field(&GivenClaim::support, Support::For),
                                             Field(&GivenClaim::theirs, Optional(1)),
                                             Field(&GivenClaim::ours, Optional(1)),
                                             Field(&GivenClaim::unit, "rank"))));
  EXPECT_EQ(found.verdict.confidence, without_.verdict.confidence);
  EXPECT_THAT(found.verdict.evidence,
              Contains(AllOf(Field(&Evidence::from, "trace.json"),
                             Field(&Evidence::what, HasSubstr("profiler")))));
}

TEST_F(GivenClaims, OfAnotherLateRankLowerTheConfidenceAndNothingElse) {
  make_late();
  const Diagnosis found = diagnosis({late(0, 28)});
  EXPECT_THAT(found.given, ElementsAre(Field(&GivenClaim::support, Support::Against)));
  EXPECT_EQ(found.verdict.verdict, without_.verdict.verdict);
  EXPECT_EQ(found.verdict.where.rank, without_.verdict.where.rank);
  EXPECT_NEAR(found.verdict.confidence, 0.6 * without_.verdict.confidence, 0.006);
  EXPECT_THAT(found.verdict.against, HasSubstr("profiler says: rank comes last"));
}

TEST_F(GivenClaims, OfALateRankWhereTheRecordsNameNobodyGiveTheVerdict) {
  const Diagnosis found = diagnosis({late(1, 28)});
  ASSERT_EQ(without_.verdict.verdict, VerdictClass::Unknown);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::RankReported);
  EXPECT_THAT(found.verdict.where.rank, Optional(1));
  EXPECT_EQ(found.verdict.where.node, "b");
  EXPECT_EQ(found.verdict.lost_ms_per_step, 28);
  EXPECT_EQ(found.verdict.confidence, 0.5);
  EXPECT_THAT(sentence_of(found.verdict), HasSubstr("rank 1"));
}

TEST_F(GivenClaims, OfALittleLatenessGiveNone) {
  EXPECT_EQ(diagnosis({late(1, 3)}).verdict.verdict, VerdictClass::Unknown);
}

TEST_F(GivenClaims, OfAMissingRankGiveTheVerdictWhereThereIsNone) {
  for (NodeData& node : made_.data.nodes) {
    node.exit_status.reset();
  }
  const Diagnosis found = diagnosis({missing(1)});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Stalled);
  EXPECT_EQ(found.verdict.cause, Cause::RankReported);
  EXPECT_EQ(found.verdict.where.collective, "all_reduce 7");
  EXPECT_THAT(sentence_of(found.verdict), HasSubstr("has not come"));
  EXPECT_FALSE(found.verdict.advice.empty());
}

TEST_F(GivenClaims, OfACallGiveTheVerdictWithTheirOwnConfidence) {
  for (NodeData& node : made_.data.nodes) {
    node.exit_status.reset();
  }
  for (const auto& [about, cause] :
       {std::pair(About::Unended, Cause::CallHung), std::pair(About::Cycle, Cause::CallOrder),
        std::pair(About::OtherCall, Cause::CallMismatch),
        std::pair(About::NoneMissing, Cause::CallHung)}) {
    Claim claim = missing(1);
    claim.about = about;
    claim.what = "ranks 0 and 1 do what they do";
    claim.ranks = {0, 1};
    claim.confidence = 0.8;
    if (about == About::NoneMissing) {
      claim.rank.reset();
    }
    const Diagnosis found = diagnosis({claim});
    EXPECT_EQ(found.verdict.verdict, VerdictClass::Stalled);
    EXPECT_EQ(found.verdict.cause, cause);
    EXPECT_EQ(found.verdict.confidence, 0.8);
    EXPECT_THAT(found.verdict.where.ranks, ElementsAre(0, 1));
    EXPECT_EQ(sentence_of(found.verdict), claim.what);
  }
}

// Without a record there is no node, and none that ended well.
TEST_F(GivenClaims, OfNoRecordGiveTheVerdict) {
  const RunData none;
  Inquiry inquiry = inquire(none);
  hold_against({missing(1)}, none, {}, inquiry);
  const Diagnosis& found = inquiry.diagnosis;
  expect_sound(found);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Stalled);
  EXPECT_THAT(found.verdict.where.rank, Optional(1));
  EXPECT_FALSE(found.verdict.advice.empty());
}

TEST_F(GivenClaims, OfSeveralRanksAgreeWithAnyOfThem) {
  made_.node("b").exit_status = 137;
  Claim claim = missing(0);
  claim.ranks = {0, 1};
  EXPECT_THAT(diagnosis({claim}).given, ElementsAre(Field(&GivenClaim::support, Support::For)));
}

TEST_F(GivenClaims, OfAMissingRankGiveNoneOfAJobThatEndedWell) {
  for (NodeData& node : made_.data.nodes) {
    node.exit_status = 0;
  }
  const Diagnosis found = diagnosis({missing(1)});
  EXPECT_NE(found.verdict.verdict, VerdictClass::Stalled);
  EXPECT_THAT(found.given, SizeIs(1));
}

TEST_F(GivenClaims, ThatAreNotFirmGiveNone) {
  Claim claim = missing(1);
  claim.is_firm = false;
  const Diagnosis found = diagnosis({claim});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Unknown);
  EXPECT_THAT(found.given, SizeIs(1));
}

TEST_F(GivenClaims, OfARankThatEndedAreHeldAgainstOurs) {
  made_.node("b").exit_status = 137;
  Diagnosis found = diagnosis({missing(1)});
  ASSERT_EQ(without_.verdict.cause, Cause::RankGone);
  EXPECT_THAT(found.given, ElementsAre(Field(&GivenClaim::support, Support::For)));
  found = diagnosis({missing(0)});
  EXPECT_THAT(found.given, ElementsAre(Field(&GivenClaim::support, Support::Against)));
  EXPECT_FALSE(found.verdict.against.empty());
}

TEST_F(GivenClaims, OfStepsAreComparedWithThoseOfTheSameTime) {
  make_late();
  const auto step = [](double ms, WallSpan span) {
    return Claim{.tool = Tool::Profiler,
                 .about = About::Step,
                 .what = "a step",
                 .value = ms,
                 .unit = "ms",
                 .step_ms = ms,
                 .span = span,
                 .from = "trace.json"};
  };
  const WallSpan during{kWallNs + kSecondNs, kWallNs + 2 * kSecondNs};
  EXPECT_THAT(diagnosis({step(104, during)}).given,
              ElementsAre(AllOf(Field(&GivenClaim::ours, Optional(testing::DoubleNear(100, 1))),
                                Field(&GivenClaim::support, Support::For))));
  EXPECT_THAT(diagnosis({step(160, during)}).given,
              ElementsAre(Field(&GivenClaim::support, Support::Against)));
  const WallSpan after{kWallNs + 100 * kSecondNs, kWallNs + 101 * kSecondNs};
  EXPECT_THAT(diagnosis({step(104, after)}).given,
              ElementsAre(Field(&GivenClaim::ours, std::nullopt)));
}

TEST_F(GivenClaims, OfHiddenCommunicationContradictALinkThatIsFull) {
  made_.add_traffic(made_.connect("a", "b"), Direction::AToB, full_link());
  const auto exposed = [](double ms) {
    return Claim{.tool = Tool::Profiler,
                 .about = About::Exposed,
                 .what = "alone",
                 .value = ms,
                 .unit = "ms",
                 .step_ms = 100,
                 .from = "trace.json"};
  };
  Diagnosis found = diagnosis({exposed(1)});
  ASSERT_EQ(without_.verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_THAT(found.given, ElementsAre(Field(&GivenClaim::support, Support::Against)));
  EXPECT_LT(found.verdict.confidence, without_.verdict.confidence);
  found = diagnosis({exposed(60)});
  EXPECT_THAT(found.given, ElementsAre(Field(&GivenClaim::support, Support::For)));
}

TEST_F(GivenClaims, OfSlurmAreEvidenceOfAnEnd) {
  made_.node("b").exit_status = 137;
  const Claim end{.tool = Tool::Slurm,
                  .about = About::JobEnd,
                  .what = "step 7.0: OUT_OF_MEMORY",
                  .value = 0,
                  .unit = "exit code",
                  .from = "sacct.txt"};
  const Diagnosis found = diagnosis({end});
  EXPECT_THAT(found.given, ElementsAre(AllOf(Field(&GivenClaim::ours, Optional(137)),
                                             Field(&GivenClaim::support, Support::For))));
  EXPECT_THAT(found.verdict.evidence,
              Contains(Field(&Evidence::what, HasSubstr("slurm: step 7.0: OUT_OF_MEMORY"))));
  Claim well = end;
  well.what = "job 7: COMPLETED";
  EXPECT_THAT(diagnosis({well}).given, ElementsAre(Field(&GivenClaim::support, Support::Against)));
}

TEST_F(GivenClaims, OfFilesOfAnotherTimeAreNotUsed) {
  std::vector<Error> troubles;
  ToolFile before{.tool = Tool::Ras, .file = "ras.json"};
  before.span.include(kWallNs - 3 * 3600 * kSecondNs, kWallNs - 3 * 3600 * kSecondNs);
  ToolFile during = before;
  during.span = {kWallNs, kWallNs + kSecondNs};
  ToolFile jobs{.tool = Tool::Slurm, .file = "sacct.txt"};
  jobs.jobs = {{.id = "1", .state = "FAILED", .span = before.span}};
  const auto kept = of_run(made_.data, {before, during, jobs}, troubles);
  EXPECT_THAT(kept, SizeIs(1));
  ASSERT_THAT(troubles, SizeIs(2));
  EXPECT_EQ(describe(troubles[0]),
            "ras.json: is of another time: it ends 3 h before the run began");
  EXPECT_THAT(describe(troubles[1]), HasSubstr("no job of the run's time"));
}

TEST_F(GivenClaims, OfBenchmarksAreCeilings) {
  make_late();
  made_.data.nodes[1].host = "host-b";
  ToolFile file{.tool = Tool::NcclTests, .file = "all_reduce_perf.txt", .hosts = {"x", "host-b"}};
  file.ceilings = {
      {.file = file.file,
       .host = "x",
       .row = {.kind = "collective", .document = R"({"collective":"all-reduce","sizes":[]})"}}};
  std::vector<Error> troubles;
  add_ceilings(made_.data, {file}, troubles);
  EXPECT_THAT(troubles, IsEmpty());
  EXPECT_THAT(made_.data.nodes[1].probes, SizeIs(1));
  // By address, by device, and by none.
  file.tool = Tool::Perftest;
  file.hosts = {};
  file.ceilings = {
      {.file = "w", .own_address = "10.0.0.1", .device = "mlx5_0", .row = {.kind = "rdma"}}};
  add_ceilings(made_.data, {file}, troubles);
  EXPECT_THAT(made_.data.nodes[0].probes, SizeIs(1));
  file.ceilings[0].own_address = "10.9.9.9";
  add_ceilings(made_.data, {file}, troubles);
  ASSERT_THAT(troubles, SizeIs(1));
  EXPECT_EQ(describe(troubles[0]),
            "w: was measured on a host with mlx5_0, and no node of this run is that host");
}

}  // namespace
}  // namespace chokepoint::analysis
