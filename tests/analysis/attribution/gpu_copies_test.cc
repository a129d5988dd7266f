#include "analysis/attribution/gpu_copies.h"

#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

constexpr const char* kGpu = "0000:3b:00.0";
constexpr double kCeilingMbps = 100'000;

// A GPU each behind a link of 100 Gb/s; steps of 100 ms, the last 5 of them on the network.
class GpuCopies : public testing::Test {
 protected:
  GpuCopies() {
    made_.host("a");
    made_.host("b");
    made_.way(made_.connect("a", "b"), record::Direction::AToB, {.busy_ms = 5, .mbps = 500});
    for (const char* node : {"a", "b"}) {
      made_.node(node).events.push_back(
          {.kind = std::string(record::kGpuProcess), .subject = kGpu});
      made_.gauge(made_.node(node), record::kPcieCeiling, kGpu, kCeilingMbps);
    }
  }
  // Of the link's ceiling, and of the time.
  void gpu(const char* node, double sent_share, double kernels_percent) {
    made_.gauge(made_.node(node), record::kGpuPcieSent, kGpu, sent_share * kCeilingMbps * 1e6 / 8);
    made_.gauge(made_.node(node), record::kGpuUtilization, kGpu, kernels_percent);
  }
  Diagnosis found() { return diagnose(made_.data); }

  MadeRun made_;
};

TEST_F(GpuCopies, ThatFillTheLinkWhileNoKernelRunsAreTheChokepoint) {
  gpu("a", 0.1, 90);
  gpu("b", 0.6, 40);
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_EQ(diagnosis.verdict.where.node, "b");
  EXPECT_EQ(diagnosis.verdict.where.interface, kGpu);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, 55, 1);  // of 60, 5 are the network's
  EXPECT_NEAR(diagnosis.accounting->sum(), 100, 0.01);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Pcie], 55, 1);
  EXPECT_FALSE(diagnosis.verdict.advice.empty());
}

TEST_F(GpuCopies, BehindKernelsCostNothing) {
  gpu("a", 0.6, 100);
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Compute);
}

TEST_F(GpuCopies, OnAWideLinkTakeLittle) {
  gpu("a", 0.02, 30);
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Compute);
}

TEST_F(GpuCopies, OfAGpuThatIsNotTheJobsAreNotTheJobs) {
  gpu("b", 0.6, 40);
  made_.node("b").events.clear();
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Compute);
}

TEST_F(GpuCopies, WithoutACeilingAreNotJudged) {
  gpu("b", 0.6, 40);
  std::erase_if(made_.node("b").series,
                [](const SeriesData& series) { return series.row.name == record::kPcieCeiling; });
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Compute);
}

}  // namespace
}  // namespace chokepoint::analysis
