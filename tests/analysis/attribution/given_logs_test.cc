// What jobs' logs give where there is no record, and beside one.
#include <gmock/gmock.h>

#include <array>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/given_claims.h"
#include "tests/analysis/attribution/sound.h"

namespace chokepoint::analysis {
namespace {

using testing::HasSubstr;
using testing::Optional;
using About = Claim::About;
using Setup = Claim::Setup;

Verdict verdict_without_record(const std::vector<Claim>& claims) {
  const RunData none;
  Inquiry inquiry;
  hold_against(claims, none, {}, inquiry);
  expect_sound(inquiry.diagnosis.verdict);
  return inquiry.diagnosis.verdict;
}

Claim setup_claim(Setup setup) {
  return {.tool = Tool::JobLog,
          .about = About::Setup,
          .setup = setup,
          .what = "NCCL on gpu1 goes another way",
          .host = "gpu1",
          .from = "job.log"};
}

TEST(GivenLogs, TheFirstFailureIsTheVerdict) {
  const Verdict found = verdict_without_record({{.tool = Tool::JobLog,
                                                 .about = About::Failure,
                                                 .what = "rank 3 failed first, out of memory",
                                                 .rank = 3,
                                                 .is_firm = true,
                                                 .from = "job.log"},
                                                setup_claim(Setup::Sockets)});
  EXPECT_EQ(found.verdict, VerdictClass::Unknown);
  EXPECT_EQ(found.cause, Cause::RankFailed);
  EXPECT_THAT(found.where.rank, Optional(3));
  EXPECT_THAT(sentence_of(found), HasSubstr("rank 3 failed first"));
}

TEST(GivenLogs, ASetupWithABetterWayIsTheWrongPath) {
  for (const auto& [setup, cause] : std::to_array<std::pair<Claim::Setup, Cause>>(
           {{Setup::Sockets, Cause::NcclSockets},
            {Setup::VirtualInterface, Cause::NcclInterface},
            {Setup::OneCard, Cause::NcclOneCard},
            {Setup::NoGpuDirect, Cause::NcclHostCopies},
            {Setup::NoPeerToPeer, Cause::NcclHostCopies},
            {Setup::Versions, Cause::NcclMixed}})) {
    const Verdict found = verdict_without_record({setup_claim(setup)});
    EXPECT_EQ(found.verdict, VerdictClass::WrongPath);
    EXPECT_EQ(found.cause, cause);
    EXPECT_EQ(found.where.node, "gpu1");
    EXPECT_FALSE(found.advice.empty());
  }
}

}  // namespace
}  // namespace chokepoint::analysis
