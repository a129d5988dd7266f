// A job on one host without a network: gpu_copies.cc, hosts.cc and step_accounts.cc in one
// diagnosis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

constexpr const char* kOnlyGpu = "0000:06:00.0";
constexpr double kLinkMbps = 460'000;

// A training of one process with one GPU, in steps of 100 ms. The figures are those of an H100.
class JobOnOneHost : public testing::Test {
 protected:
  JobOnOneHost() {
    NodeData& node = made_.host("a");
    node.processes.push_back({.id = 1, .pid = 7, .command = "python3 train.py"});
    node.events.push_back({.kind = std::string(record::kGpuProcess), .subject = kOnlyGpu});
    made_.gauge(node, record::kPcieCeiling, kOnlyGpu, kLinkMbps);
  }
  void works(double threads_percent, double kernels_percent, double copied_share,
             double utilization_percent) {
    NodeData& node = made_.node("a");
    made_.counter(node, record::kThreadCpu, "7/python3 (main)", threads_percent * 1e7);
    made_.gauge(node, record::kGpuKernels, kOnlyGpu, kernels_percent);
    made_.gauge(node, record::kGpuUtilization, kOnlyGpu, utilization_percent);
    made_.gauge(node, record::kGpuPcieReceived, kOnlyGpu, copied_share * kLinkMbps * 1e6 / 8);
  }
  Diagnosis found() { return diagnose(made_.data); }

  MadeRun made_;
};

TEST_F(JobOnOneHost, FullOfKernelsComputes) {
  works(99, 98, 0.001, 100);
  const Diagnosis diagnosis = found();
  expect_sound(diagnosis);
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::Compute);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Compute], 99, 1);
}

TEST_F(JobOnOneHost, ThatCopiesBetweenKernelsIsHeldBackByPcie) {
  works(99, 20, 0.77, 100);
  const Diagnosis diagnosis = found();
  expect_sound(diagnosis);
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, 77, 1) << "the driver counts copies as work, too";
}

TEST_F(JobOnOneHost, WhoseGpuAndThreadsRestWaitsForSomethingUnknown) {
  works(10, 12, 0.001, 16);
  const Diagnosis diagnosis = found();
  expect_sound(diagnosis);
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::Unknown);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Other], 88, 1);
  ASSERT_FALSE(diagnosis.verdict.evidence.empty());
  EXPECT_THAT(diagnosis.verdict.evidence.front().what, testing::HasSubstr("neither a GPU"));
}

TEST_F(JobOnOneHost, WhoseThreadsWaitForCoresDoesNotRestAndItIsSaidWhoTakesThem) {
  works(30, 12, 0.001, 16);
  NodeData& node = made_.node("a");
  made_.counter(node, record::kThreadWait, "7/python3 (main)", 0.65e9);
  made_.counter(node, record::kOthersCpu, "backup", 0.7e9);
  const Diagnosis diagnosis = found();
  expect_sound(diagnosis);
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::Compute);
  EXPECT_EQ(diagnosis.verdict.cause, Cause::ProcessCpu);
  EXPECT_EQ(diagnosis.verdict.where.node, "a");
  EXPECT_LT((*diagnosis.accounting)[Account::Other], 6);
  EXPECT_THAT(diagnosis.verdict.evidence.back().what, testing::HasSubstr("backup"));
}

TEST_F(JobOnOneHost, WithoutItsThreadsTimesIsNotJudged) {
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Unknown);
  EXPECT_FALSE(found().accounting);
}

}  // namespace
}  // namespace chokepoint::analysis
