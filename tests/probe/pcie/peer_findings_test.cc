// Copies between GPUs: a part of findings.cc.
#include <gmock/gmock.h>

#include "probe/pcie/findings.h"
#include "tests/probe/pcie/rates.h"

namespace chokepoint::probe::pcie {
namespace {

using checks::Check;
using checks::Checks;
using checks::Status;

constexpr double kCeiling = 57.6 * kGigabyte;

PeerOutcome outcome(double there, double back, double both) {
  return {.one = "0000:af:00.0",
          .other = "0000:b0:00.0",
          .reachable = true,
          .direct = {there * kGigabyte, back * kGigabyte, both * kGigabyte},
          .staged = {20 * kGigabyte, 20 * kGigabyte, 30 * kGigabyte}};
}

Check judged(const PeerOutcome& outcome, std::optional<double> ceiling = kCeiling) {
  Checks checks;
  judge_peers(outcome, ceiling, checks);
  return checks.empty() ? Check{.id = "none"} : checks.back();
}

TEST(PeerFindings, DirectCopiesAtTheLinksRatePass) {
  const Check check = judged(outcome(50, 50, 98));
  EXPECT_EQ(check.status, Status::Pass);
  EXPECT_EQ(check.found, "50.0 GB/s there, 50.0 GB/s back, 98.0 GB/s in both directions");
}

TEST(PeerFindings, BothWaysThatCollapseAreCritical) {
  const Check check = judged(outcome(50, 50, 7));
  EXPECT_EQ(check.status, Status::Critical);
  EXPECT_THAT(check.why, testing::HasSubstr("ACS"));
  EXPECT_THAT(check.next_step, testing::HasSubstr("ACSCtl"));
}

TEST(PeerFindings, BothWaysThatGainNothingAreAWarning) {
  EXPECT_EQ(judged(outcome(50, 50, 52)).status, Status::Warning);
}

TEST(PeerFindings, MuchLessThanTheSlotsCarryIsAWarning) {
  EXPECT_EQ(judged(outcome(20, 50, 68)).status, Status::Warning);
  EXPECT_EQ(judged(outcome(20, 50, 68), std::nullopt).status, Status::Pass);
}

TEST(PeerFindings, MoreThanPcieCarriesIsNvlink) {
  EXPECT_THAT(judged(outcome(350, 350, 690)).found, testing::HasSubstr("NVLink"));
}

TEST(PeerFindings, GpusThatDoNotReachEachOtherAreAWarning) {
  PeerOutcome staged = outcome(0, 0, 0);
  staged.reachable = false;
  staged.direct = {};
  const Check check = judged(staged);
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_EQ(check.found, "not directly; 20.0 GB/s through host memory");
}

TEST(PeerFindings, SmallCopiesAreNoMeasure) {
  PeerOutcome small = outcome(5, 5, 5);
  small.bytes = 4096;
  EXPECT_EQ(judged(small).status, Status::Unknown);
}

TEST(PeerFindings, NothingMeasuredIsNotJudged) {
  EXPECT_EQ(judged({.one = "a", .other = "b", .reachable = true}).id, "none");
}

TEST(PeerFindings, DataThatChangedIsCritical) {
  PeerOutcome wrong = outcome(50, 50, 98);
  wrong.wrong = {"directly there: byte 0 of 8 differs"};
  const Check check = judged(wrong);
  EXPECT_EQ(check.id, "pcie.data");
  EXPECT_EQ(check.status, Status::Critical);
}

}  // namespace
}  // namespace chokepoint::probe::pcie
