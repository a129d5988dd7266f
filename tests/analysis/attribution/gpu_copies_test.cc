#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/findings.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

constexpr const char* kCopyingGpu = "0000:3b:00.0";
constexpr double kCeilingMbps = 100'000;

// A GPU each behind a link of 100 Gb/s; steps of 100 ms, the last 5 of them on the network.
class GpuCopies : public testing::Test {
 protected:
  GpuCopies() {
    made_.host("a");
    made_.host("b");
    made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB,
                      {.busy_ms = 5, .mbps = 500});
    for (const char* node : {"a", "b"}) {
      made_.node(node).events.push_back(
          {.kind = std::string(record::kGpuProcess), .subject = kCopyingGpu});
      made_.gauge(made_.node(node), record::kPcieCeiling, kCopyingGpu, kCeilingMbps);
    }
  }
  // Of the link's ceiling, and of the time.
  void gpu(const char* node, double sent_share, double kernels_percent) {
    made_.gauge(made_.node(node), record::kGpuPcieSent, kCopyingGpu,
                sent_share * kCeilingMbps * 1e6 / 8);
    made_.gauge(made_.node(node), record::kGpuUtilization, kCopyingGpu, kernels_percent);
  }
  Diagnosis found() { return diagnose(made_.data); }
  static std::optional<double> evidence(const Verdict& verdict, const char* text) {
    for (const Evidence& each : verdict.evidence) {
      if (each.what.find(text) != std::string::npos) {
        return each.value;
      }
    }
    return std::nullopt;
  }

  MadeRun made_;
};

TEST_F(GpuCopies, ThatFillTheLinkWhileNoKernelRunsAreTheChokepoint) {
  gpu("a", 0.1, 90);
  gpu("b", 0.6, 40);
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_EQ(diagnosis.verdict.where.node, "b");
  EXPECT_EQ(diagnosis.verdict.where.interface, kCopyingGpu);
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

// Of 100 ms kernels take 60 and copies 20, beside them: that of the rest the host's own work takes
// most is no reason to blame the copies.
TEST_F(GpuCopies, OfAPipelineOfPinnedInputsAreBesideTheKernels) {
  gpu("a", 0.02, 60);
  made_.gauge(made_.node("b"), record::kGpuPcieReceived, kCopyingGpu, 0.2 * kCeilingMbps * 1e6 / 8);
  made_.gauge(made_.node("b"), record::kGpuUtilization, kCopyingGpu, 60);
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Compute);
}

TEST_F(GpuCopies, ThatTakeLongerThanKernelsCannotBeHiddenByThem) {
  gpu("b", 0.45, 30);
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, 15, 1);
  EXPECT_EQ(diagnosis.verdict.cause, Cause::Copies);
  expect_sound(diagnosis);
}

TEST_F(GpuCopies, OverALinkThatLostLanesAreTheLinks) {
  gpu("b", 0.6, 40);
  NodeData& b = made_.node("b");
  made_.gauge(b, record::kPcieBusySpeed, kCopyingGpu, 16);
  made_.gauge(b, record::kPcieBusyWidth, kCopyingGpu, 4);
  b.facts.push_back(
      {.category = "gpu", .subject = kCopyingGpu, .key = "max_speed_gts", .value = "16"});
  b.facts.push_back({.category = "gpu", .subject = kCopyingGpu, .key = "max_width", .value = "16"});
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.cause, Cause::PcieWidth);
  EXPECT_EQ(evidence(diagnosis.verdict, "under load has"), 4);
  EXPECT_EQ(evidence(diagnosis.verdict, "slot can do"), 16);
  EXPECT_NEAR(*evidence(diagnosis.verdict, "would save"), 55 * 0.75, 1);
  expect_sound(diagnosis);
}

TEST_F(GpuCopies, TheDriversWordOnALinkComesFirst) {
  gpu("b", 0.6, 40);
  NodeData& b = made_.node("b");
  made_.gauge(b, record::kPcieBusySpeed, kCopyingGpu, 16);
  made_.gauge(b, record::kPcieBusyWidth, kCopyingGpu, 4);
  made_.gauge(b, record::kGpuBusyGeneration, kCopyingGpu, 2);
  made_.gauge(b, record::kGpuBusyWidth, kCopyingGpu, 16);
  made_.gauge(b, record::kGpuMaxGeneration, kCopyingGpu, 4);
  made_.gauge(b, record::kGpuMaxWidth, kCopyingGpu, 16);
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.cause, Cause::PcieSpeed);
  EXPECT_EQ(evidence(diagnosis.verdict, "under load runs at"), 5);
  EXPECT_EQ(evidence(diagnosis.verdict, "slot can do"), 16);
}

TEST_F(GpuCopies, ANarrowLinkOverWhichLittleGoesIsNotTheChokepoint) {
  gpu("b", 0.02, 95);
  made_.gauge(made_.node("b"), record::kGpuBusyWidth, kCopyingGpu, 4);
  made_.gauge(made_.node("b"), record::kGpuBusyGeneration, kCopyingGpu, 4);
  made_.gauge(made_.node("b"), record::kGpuMaxWidth, kCopyingGpu, 16);
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Compute);
}

// Two GPUs each of which takes 35 % of the port that both stand behind.
TEST_F(GpuCopies, OfGpusBehindOnePortAddUp) {
  constexpr const char* kOther = "0000:3c:00.0";
  NodeData& b = made_.node("b");
  b.events.push_back({.kind = std::string(record::kGpuProcess), .subject = kOther});
  made_.gauge(b, record::kPcieCeiling, kOther, kCeilingMbps);
  for (const char* gpu : {kCopyingGpu, kOther}) {
    made_.gauge(b, record::kGpuPcieSent, gpu, 0.35 * kCeilingMbps * 1e6 / 8);
    made_.gauge(b, record::kGpuUtilization, gpu, 30);
    const std::string path = std::string("0000:00:01.0 0000:3a:00.0 0000:3a:04.0 ") + gpu;
    b.facts.push_back({.category = "pci", .subject = gpu, .key = "path", .value = path});
  }
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_EQ(diagnosis.verdict.cause, Cause::SharedLink);
  EXPECT_EQ(diagnosis.verdict.where.interface, "0000:3a:04.0");
  EXPECT_EQ(evidence(diagnosis.verdict, "share the link"), 2);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, 65, 1);  // of 70, 5 are the network's
  expect_sound(diagnosis);
}

TEST_F(GpuCopies, AreHeldAgainstTheDriversWordWhereSysfsShowsNoLink) {
  gpu("b", 0.6, 40);
  NodeData& b = made_.node("b");
  std::erase_if(b.series,
                [](const SeriesData& series) { return series.row.name == record::kPcieCeiling; });
  made_.gauge(b, record::kGpuBusyGeneration, kCopyingGpu, 4);
  made_.gauge(b, record::kGpuBusyWidth, kCopyingGpu, 8);  // 115 Gb/s
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, 52, 1);
}

TEST_F(GpuCopies, WithoutACeilingAreNotJudged) {
  gpu("b", 0.6, 40);
  std::erase_if(made_.node("b").series,
                [](const SeriesData& series) { return series.row.name == record::kPcieCeiling; });
  EXPECT_EQ(found().verdict.verdict, VerdictClass::Compute);
}

// Gloo's collectives of 10 ms at the end of each step of 100 ms, to which what it exchanges is
// copied before, and from the host after it: 12 ms each way.
class GlooCopies : public GpuCopies {
 protected:
  void copies(const char* node, double each_way_share) {
    for (const auto name : {record::kGpuPcieSent, record::kGpuPcieReceived}) {
      made_.gauge(made_.node(node), name, kCopyingGpu, each_way_share * kCeilingMbps * 1e6 / 8);
    }
    made_.gauge(made_.node(node), record::kGpuUtilization, kCopyingGpu, 50);
  }
};

TEST_F(GlooCopies, BeforeAndAfterEachExchangeCountBothWays) {
  copies("a", 0.12);
  copies("b", 0.12);
  made_.collectives(10, {0, 0});
  const Diagnosis diagnosis = found();
  expect_sound(diagnosis);
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_EQ(diagnosis.verdict.cause, Cause::GlooCopies);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, 24, 1);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Pcie], 24, 1);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Compute], 66, 1);
  EXPECT_FALSE(diagnosis.verdict.advice.empty());
}

TEST_F(GlooCopies, FarFewerThanWhatGoesOverTheNetworkAreNotGloos) {
  MadeTraffic way{.busy_ms = 10, .mbps = 9000};
  made_.add_traffic(0, record::Direction::BToA, way);
  copies("a", 0.003);
  copies("b", 0.003);
  made_.collectives(10, {0, 0});
  EXPECT_NE(found().verdict.verdict, VerdictClass::PcieGpu);
}

// b's link is slower: it copies for 30 ms longer, comes later by that, and a waits.
TEST_F(GlooCopies, ThatTakeOneRankLongerAreWhyItIsLate) {
  copies("a", 0.05);
  copies("b", 0.2);
  made_.collectives(10, {0, 30});
  const Diagnosis diagnosis = found();
  expect_sound(diagnosis);
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_EQ(diagnosis.verdict.where.node, "b");
  EXPECT_NEAR((*diagnosis.accounting)[Account::Straggler], 0, 2);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Pcie], 40, 2);
  EXPECT_NEAR(diagnosis.accounting->sum(), 100, 0.01);
}

TEST_F(GlooCopies, AsLongOnBothLeaveALateRankLate) {
  copies("a", 0.1);
  copies("b", 0.1);
  made_.collectives(10, {0, 15});
  const Diagnosis diagnosis = found();
  expect_sound(diagnosis);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Straggler], 15, 1);
}

}  // namespace
}  // namespace chokepoint::analysis
