// Jobs on one host, as two reports measured them: one GPU and two, joined by NVLink or by PCIe
// alone. Made-up counters with the reports' figures. How long a step took is not said and does not
// matter: it is 100 ms here, and what it is made of follows from how far two GPUs were from twice
// one.
#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

constexpr double kStepMs = 100;
constexpr double kPcieMbps = 200'000;  // a slot of PCIe 4.0 with 16 lanes, as it is reached

// Of GPT-2 large an epoch took 498.37 s on one GPU, and 266.83 s on two.
constexpr double kLargeShare = 498.37 / 2 / 266.83;
// Thousand tokens a second of two GPUs, as shares of twice one GPU's.
constexpr double kDataShare = 0.93;
constexpr double kTensorShare = 0.44;

// One process with its GPUs, as nn.DataParallel's, or a rank for each.
class OneHost : public testing::Test {
 protected:
  OneHost() {
    NodeData& node = made_.host("a");
    node.processes.push_back({.id = 1, .pid = 7, .command = "python3 train.py"});
    made_.counter(node, record::kThreadCpu, "7/python3 (main)", 0.98e9);
  }
  // GPM's counters tell kernels from copies; the driver's utilisation does not.
  void gpu(const char* address, double kernels, double copied) {
    NodeData& node = made_.node("a");
    node.events.push_back({.kind = std::string(record::kGpuProcess), .subject = address});
    made_.gauge(node, record::kPcieCeiling, address, kPcieMbps);
    made_.gauge(node, record::kGpuKernels, address, 100 * kernels);
    made_.gauge(node, record::kGpuUtilization, address, 100);
    made_.gauge(node, record::kGpuPcieReceived, address, copied * kPcieMbps * 1e6 / 8);
  }
  Diagnosis found() {
    Diagnosis found = diagnose(made_.data);
    expect_sound(found);
    return found;
  }

  MadeRun made_{{.step_ms = kStepMs}};
};

TEST_F(OneHost, OneGpuComputes) {
  gpu("0000:06:00.0", 0.99, 0.001);
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::Compute);
  EXPECT_NEAR((*diagnosis.accounting)[Account::Compute], 99, 2);
}

TEST_F(OneHost, OfTwoThatScaleWellLittleIsLostToCopies) {
  for (const double share : {kLargeShare, kDataShare}) {
    made_.node("a").events.clear();
    made_.node("a").series.resize(1);
    for (const char* address : {"0000:06:00.0", "0000:07:00.0"}) {
      gpu(address, share, 1 - share);
    }
    const Diagnosis diagnosis = found();
    EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu) << share;
    EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, kStepMs * (1 - share), 1);
    EXPECT_NEAR((*diagnosis.accounting)[Account::Compute], kStepMs * share, 2);
  }
}

// Of two GPUs by NVLink 700 million parameters in BF16 are exchanged in 0.02 s, at 159 GB/s: the
// GPU's own kernels do it, and nothing shows but what went over the links.
TEST_F(OneHost, WhatGoesByNvlinkIsTold) {
  constexpr double kShare = 0.2;
  for (const char* address : {"0000:06:00.0", "0000:07:00.0"}) {
    gpu(address, 0.99, 0.001);
    made_.gauge(made_.node("a"), record::kGpuNvlinkSent, address, kShare * 159.29e9);
    made_.counter(made_.node("a"), record::kGpuNvlinkCrcErrors, address, 2);
  }
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::Compute);
  const auto& evidence = diagnosis.verdict.evidence;
  ASSERT_GE(evidence.size(), 3U);
  EXPECT_NEAR(evidence[evidence.size() - 2].value.value_or(0), kShare * 159.29, 0.1);
  EXPECT_GT(evidence.back().value.value_or(0), 0);
}

TEST_F(OneHost, TensorParallelOverPcieIsHeldBackByIt) {
  for (const char* address : {"0000:06:00.0", "0000:07:00.0"}) {
    gpu(address, kTensorShare, 1 - kTensorShare);
  }
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::PcieGpu);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, kStepMs * (1 - kTensorShare), 2);
}

}  // namespace
}  // namespace chokepoint::analysis
