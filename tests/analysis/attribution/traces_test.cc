// The verdict by traces of a profiler alone.
#include "analysis/attribution/traces.h"

#include <gmock/gmock.h>

#include <array>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/given_claims.h"
#include "analysis/attribution/printed_steps.h"
#include "tests/analysis/attribution/sound.h"

namespace chokepoint::analysis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr std::int64_t kMilli = 1'000'000;
constexpr int kTracedSteps = 10;

// Of a step, in ms; what is left of 100 the program spends otherwise.
struct StepParts {
  std::int64_t computing = 60;
  std::int64_t collective = 20;  // at its end
  std::int64_t copying = 0;
  std::int64_t input = 0;
};

ToolFile trace(std::int64_t rank, const StepParts& parts, bool has_kernels = false,
               std::int64_t world_size = 3) {
  RankRecord own{.rank = rank,
                 .host = "host" + std::to_string(rank / 2),
                 .world_size = world_size,
                 .groups = {"0/allreduce"}};
  TraceTime time{.has_kernels = has_kernels,
                 .steps = kTracedSteps,
                 .window_ns = 100 * kMilli * kTracedSteps,
                 .computing_ns = parts.computing * kMilli * kTracedSteps,
                 .exposed_ns = parts.collective * kMilli * kTracedSteps,
                 .copying_ns = parts.copying * kMilli * kTracedSteps,
                 .input_ns = parts.input * kMilli * kTracedSteps};
  for (int step = 0; step < kTracedSteps; ++step) {
    const std::int64_t end_ns = 100 * kMilli * (step + 1);
    const Span collective{end_ns - parts.collective * kMilli, end_ns};
    own.steps.push_back({end_ns - 100 * kMilli, end_ns});
    own.collectives.push_back({.group = 0,
                               .number = static_cast<std::uint64_t>(step),
                               .start_ns = collective.start_ns,
                               .length_ns = collective.length_ns()});
    time.exposed.push_back(collective);
  }
  own.time = std::move(time);
  return {.tool = Tool::Profiler, .file = "trace" + std::to_string(rank), .ranks = {own}};
}

Diagnosis diagnosis(const std::vector<ToolFile>& files, Verdict before = {}) {
  const RunData none;
  Inquiry inquiry;
  inquiry.diagnosis.verdict = std::move(before);
  judge_traces(files, none, {}, inquiry);
  expect_sound(inquiry.diagnosis);
  return inquiry.diagnosis;
}

TEST(Traces, NameTheRankForWhichTheOthersWait) {
  const Diagnosis found = diagnosis({trace(0, {.computing = 30, .collective = 60}),
                                     trace(1, {.computing = 30, .collective = 64}),
                                     trace(2, {.computing = 85, .collective = 5})});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::RankReported);
  EXPECT_THAT(found.verdict.where.rank, Optional(2));
  EXPECT_EQ(found.verdict.where.node, "host1");
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 57, 1e-6);
  EXPECT_THAT(found.verdict.evidence, Contains(Field(&Evidence::what, HasSubstr("in operators"))));
  EXPECT_NEAR((*found.accounting)[Account::Straggler], 57, 1e-6);
  EXPECT_EQ(found.steps.count, kTracedSteps);
  EXPECT_THAT(found.steps.median_ms, Optional(100));
  EXPECT_THAT(found.missing, IsEmpty());
  ASSERT_THAT(found.ranks, testing::SizeIs(3));
  EXPECT_NEAR(found.ranks[0].waiting_ms, 55, 1e-6);
}

TEST(Traces, SayThatALateRankWaitsForItsInput) {
  const Diagnosis found = diagnosis({trace(0, {.computing = 30, .collective = 60}),
                                     trace(1, {.computing = 30, .collective = 60}),
                                     trace(2, {.computing = 30, .collective = 5, .input = 55})});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::Input);
}

TEST(Traces, OfRanksThatAllWaitForTheirInput) {
  const StepParts slow{.computing = 40, .collective = 10, .input = 50};
  const Diagnosis found = diagnosis({trace(0, slow), trace(1, slow), trace(2, slow)});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Input);
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 50, 1e-6);
  EXPECT_THAT(found.verdict.where.ranks, IsEmpty());
}

TEST(Traces, OfCopiesThatNothingHides) {
  const StepParts slow{.computing = 40, .collective = 10, .copying = 40};
  const Diagnosis found = diagnosis({trace(0, slow, true), trace(1, slow, true)});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_EQ(found.verdict.cause, Cause::ExposedCopies);
}

TEST(Traces, DoNotSayWhatHoldsCommunicationBack) {
  const StepParts much{.computing = 40, .collective = 55};
  const Diagnosis found = diagnosis({trace(0, much), trace(1, much), trace(2, much)});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Unknown);
  EXPECT_EQ(found.verdict.cause, Cause::ExposedCommunication);
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 55, 1e-6);
  EXPECT_FALSE(found.verdict.advice.empty());
}

TEST(Traces, OfAJobThatComputesAreCompute) {
  const StepParts usual{.computing = 90, .collective = 8};
  const Diagnosis found = diagnosis({trace(0, usual), trace(1, usual), trace(2, usual)});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Compute);
  EXPECT_EQ(found.verdict.cause, Cause::None);
}

TEST(Traces, OfAGpuThatWaitsForTheProgramSaySo) {
  const StepParts idle{.computing = 40, .collective = 8};
  const Diagnosis found = diagnosis({trace(0, idle, true), trace(1, idle, true)});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Compute);
  EXPECT_EQ(found.verdict.cause, Cause::GpuIdle);
}

TEST(Traces, OfSomeRanksOrOfOneSayWhatIsMissingAndAreLessSure) {
  const StepParts slow{.computing = 40, .collective = 10, .input = 50};
  const Diagnosis all = diagnosis({trace(0, slow), trace(1, slow), trace(2, slow)});
  const Diagnosis some = diagnosis({trace(0, slow), trace(2, slow)});
  const Diagnosis one = diagnosis({trace(0, slow, false, 0)});
  EXPECT_THAT(some.missing, ElementsAre(HasSubstr("no trace of rank 1")));
  EXPECT_LT(some.verdict.confidence, all.verdict.confidence);
  EXPECT_THAT(one.missing, ElementsAre(HasSubstr("one trace alone")));
  EXPECT_LT(one.verdict.confidence, some.verdict.confidence);
  EXPECT_THAT(diagnosis({trace(0, slow, false, 1)}).missing, IsEmpty());
}

// A hang or a failure says more than how the steps before it were spent.
TEST(Traces, LeaveAVerdictAboutAHangAndGiveOneAboutThePathItsCost) {
  const StepParts much{.computing = 40, .collective = 55};
  const std::vector<ToolFile> files{trace(0, much), trace(1, much), trace(2, much)};
  const Evidence told{"another tool names a rank: dump, rank 1", 1, "rank", "dump"};
  EXPECT_EQ(diagnosis(files, {.verdict = VerdictClass::Stalled,
                              .cause = Cause::RankReported,
                              .evidence = {told}})
                .verdict.verdict,
            VerdictClass::Stalled);
  const Verdict path =
      diagnosis(files, {.verdict = VerdictClass::WrongPath,
                        .cause = Cause::NcclSockets,
                        .evidence = {{"NCCL's log shows how it connected", {}, "", "job.log"}}})
          .verdict;
  EXPECT_EQ(path.cause, Cause::NcclSockets);
  EXPECT_NEAR(path.lost_ms_per_step, 55, 1e-6);
}

TEST(Traces, WithoutStepsSaySo) {
  ToolFile file = trace(0, {});
  file.ranks[0].steps.clear();
  file.ranks[0].time.reset();
  const Diagnosis found = diagnosis({file});
  EXPECT_FALSE(found.accounting);
  EXPECT_THAT(found.missing, ElementsAre(HasSubstr("profiler.step()")));
}

Diagnosis of_claims(const std::vector<Claim>& claims) {
  const RunData none;
  Inquiry inquiry;
  hold_against(claims, none, {}, inquiry);
  expect_sound(inquiry.diagnosis.verdict);
  return inquiry.diagnosis;
}

TEST(GivenBenchmarks, AreTheVerdictWhereThereIsNoRecord) {
  for (const auto& [about, cause] : std::to_array<std::pair<Claim::About, Cause>>(
           {{Claim::About::Wrong, Cause::WrongResults},
            {Claim::About::Drop, Cause::BandwidthDrop},
            {Claim::About::Benchmark, Cause::Benchmark}})) {
    const Verdict found = of_claims({{.tool = Tool::NcclTests,
                                      .about = about,
                                      .what = "all-reduce of 8 ranks does so",
                                      .is_firm = true,
                                      .from = "all_reduce.txt"},
                                     {.tool = Tool::NcclTests,
                                      .about = Claim::About::Benchmark,
                                      .what = "another",
                                      .from = "all_reduce.txt"}})
                              .verdict;
    EXPECT_EQ(found.verdict, VerdictClass::Unknown);
    EXPECT_EQ(found.cause, cause);
    EXPECT_THAT(sentence_of(found), HasSubstr("all-reduce of 8 ranks does so"));
  }
}

TEST(PrintedStepsAlone, AreTheDocumentsStepsAndWhatIsUnusualIsEvidence) {
  ToolFile file{.tool = Tool::JobLog, .file = "job.log"};
  for (std::uint64_t at = 1; at <= 10; ++at) {
    file.printed.push_back({.line = at, .ordinal = at, .ms = 400});
  }
  Diagnosis found;
  add_printed_steps(
      {file}, {{.about = Claim::About::Unusual, .what = "every 5th", .from = "job.log"}}, found);
  EXPECT_EQ(found.steps.count, 10);
  EXPECT_THAT(found.steps.median_ms, Optional(400));
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Unknown);
  EXPECT_THAT(found.verdict.evidence, ElementsAre(Field(&Evidence::what, "every 5th")));
  add_printed_steps({file}, {}, found);
  EXPECT_EQ(found.steps.count, 10);
}

}  // namespace
}  // namespace chokepoint::analysis
