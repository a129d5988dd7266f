// From a written record to the verdict: what counters of RDMA ports, GPUs and PCIe links lead to.
// How each finding weighs its signs is tested beside them (tests/analysis/attribution).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/record/names.h"
#include "tests/analysis/commands/diagnose_run.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double kHardwareStepMs = 100;
constexpr std::int64_t kHardwareSteps = 100;
constexpr double kHardwareSeconds = kHardwareStepMs * kHardwareSteps / 1000;
constexpr const char* kRdmaPort = "mlx5_0/1";
constexpr const char* kHotGpu = "0000:3b:00.0";

// Two hosts of a rank each, steps of 100 ms in a record of ten seconds.
class DiagnosedHardware : public testing::Test {
 protected:
  DiagnosedHardware() {
    for (const auto& [name, address, rank] :
         {std::tuple("a", "10.0.0.1", 0), std::tuple("b", "10.0.0.2", 1)}) {
      NodeMaker& node = run_.node({.name = name,
                                   .address = address,
                                   .interface = "ens1",
                                   .speed_mbps = 100'000,
                                   .rank = rank,
                                   .length_ms = kHardwareSeconds * 1000 + 500});
      node.steps({.count = kHardwareSteps, .length_ms = kHardwareStepMs});
      nodes_.push_back(&node);
    }
  }

  NodeMaker& a() { return *nodes_[0]; }
  NodeMaker& b() { return *nodes_[1]; }

  static void count(NodeMaker& node, std::string_view name, const char* subject, double per_s) {
    node.counter(std::string(name), subject,
                 {{.ms = 0, .value = 0},
                  {.ms = kHardwareSeconds * 1000, .value = per_s * kHardwareSeconds}});
  }
  static void gauge(NodeMaker& node, std::string_view name, const char* subject, double value) {
    node.gauge(std::string(name), subject,
               {{.ms = 0, .value = value}, {.ms = kHardwareSeconds * 1000, .value = value}});
  }

  // Ports of 100 Gb/s that carry a tenth of that.
  void rdma() {
    for (NodeMaker* node : nodes_) {
      node->fact("rdma", kRdmaPort, "rate", "100 Gb/sec (4X EDR)");
      node->fact("rdma", kRdmaPort, "netdev", "ens1");
      count(*node, record::kRdmaSentBytes, kRdmaPort, 1.25e9);
      count(*node, record::kRdmaReceivedBytes, kRdmaPort, 1.25e9);
      count(*node, record::kRdmaSentPackets, kRdmaPort, 1.25e9 / 4096);
    }
  }

  // One a step, which takes so long once both ranks are there.
  void collectives(double took_ms, double b_is_late_ms = 0) {
    for (NodeMaker* node : nodes_) {
      const bool is_late = node == nodes_[1];
      for (std::int64_t number = 0; number < kHardwareSteps; ++number) {
        const double end_ms = kHardwareStepMs * static_cast<double>(number + 1);
        const double all_ms = end_ms - took_ms;
        const double own_ms = is_late ? all_ms : all_ms - b_is_late_ms;
        const double other_ms = is_late ? all_ms - b_is_late_ms : all_ms;
        node->push(record::Collective{.start_ns = node->at_ms(own_ms),
                                      .end_ns = node->at_ms(end_ms),
                                      .number = number,
                                      .kind = record::CollectiveKind::AllReduce,
                                      .bytes = 1'000'000,
                                      .own_ready_ns = node->at_ms(own_ms),
                                      .peer_ready_ns = node->at_ms(other_ms),
                                      .first_data_ns = node->at_ms(all_ms),
                                      .last_data_ns = node->at_ms(end_ms)});
      }
    }
  }

  void gpus() {
    for (NodeMaker* node : nodes_) {
      node->event(0, record::kGpuProcess, kHotGpu);
      gauge(*node, record::kGpuMaxClock, kHotGpu, 1980);
      gauge(*node, record::kGpuClock, kHotGpu, node == nodes_[1] ? 1200 : 1980);
      gauge(*node, record::kGpuThrottle, kHotGpu, node == nodes_[1] ? 0x40 : 0);
    }
  }

  // Sound: the accounts are the step, and an accusation has evidence.
  json diagnosed() {
    run_.finish();
    json diagnosis = diagnosis_of(run_.folder());
    EXPECT_TRUE(diagnosis.is_object());
    if (!diagnosis.is_object()) return diagnosis;
    double sum = 0;
    for (const auto& [account, ms] : diagnosis["accounting_ms_per_step"].items()) {
      sum += ms.get<double>();
    }
    EXPECT_NEAR(sum, diagnosis["steps"]["median_ms"], 1);
    EXPECT_EQ(diagnosis["verdict"]["evidence"].empty(), diagnosis["verdict"]["class"] == "unknown");
    return diagnosis;
  }

  RunMaker run_;
  std::vector<NodeMaker*> nodes_;
};

TEST_F(DiagnosedHardware, APortThatThePeerPauses) {
  rdma();
  count(a(), record::kNicReceivedPauseTime, "ens1", 300'000);
  const json verdict = diagnosed()["verdict"];
  EXPECT_EQ(verdict["class"], "rdma-congestion");
  EXPECT_EQ(verdict["cause"], "pauses");
  EXPECT_NEAR(verdict["lost_ms_per_step"], 30, 1);
}

TEST_F(DiagnosedHardware, AReceiverThatAsksForPauses) {
  rdma();
  count(a(), record::kNicReceivedPauseTime, "ens1", 300'000);
  count(b(), record::kNicSentPauseTime, "ens1", 290'000);
  const json verdict = diagnosed()["verdict"];
  EXPECT_EQ(verdict["class"], "rdma-congestion");
  EXPECT_EQ(verdict["cause"], "receiver-pauses");
  EXPECT_THAT(verdict.dump(), HasSubstr("it asked others to pause"));
}

TEST_F(DiagnosedHardware, MarksAndNotificationsOfCongestion) {
  rdma();
  collectives(60);
  count(b(), record::kRdmaEcnMarked, kRdmaPort, 9000);
  count(a(), record::kRdmaCongestionHandled, kRdmaPort, 3000);
  const json verdict = diagnosed()["verdict"];
  EXPECT_EQ(verdict["class"], "rdma-congestion");
  EXPECT_EQ(verdict["cause"], "ecn");
  EXPECT_NEAR(verdict["lost_ms_per_step"], 50, 1);  // 10 of 60 are what the line needs
}

TEST_F(DiagnosedHardware, PacketsOutOfSequence) {
  rdma();
  collectives(60);
  count(b(), record::kRdmaOutOfSequence, kRdmaPort, 500);
  const json diagnosis = diagnosed();
  EXPECT_EQ(diagnosis["verdict"]["class"], "rdma-loss");
  EXPECT_EQ(diagnosis["verdict"]["cause"], "loss");
  EXPECT_NEAR(diagnosis["accounting_ms_per_step"]["loss"], 50, 1);
}

TEST_F(DiagnosedHardware, TimeOutsOfACard) {
  rdma();
  count(a(), record::kRdmaSequenceErrors, kRdmaPort, 300);
  count(a(), record::kRdmaAckTimeouts, kRdmaPort, 3);
  count(b(), record::kRdmaOutOfSequence, kRdmaPort, 380);
  const json verdict = diagnosed()["verdict"];
  EXPECT_EQ(verdict["class"], "rdma-loss");
  EXPECT_EQ(verdict["where"]["from"], "a");
  EXPECT_EQ(verdict["where"]["to"], "b");
}

TEST_F(DiagnosedHardware, AFewSignsAmongMillionsOfPacketsAccuseNobody) {
  rdma();
  collectives(60);
  count(a(), record::kRdmaCongestionHandled, kRdmaPort, 1);
  EXPECT_EQ(diagnosed()["verdict"]["class"], "unknown");
}

TEST_F(DiagnosedHardware, AGpuThatIsHotMakesItsRankLate) {
  gpus();
  collectives(3, 30);
  const json verdict = diagnosed()["verdict"];
  EXPECT_EQ(verdict["class"], "straggler");
  EXPECT_EQ(verdict["cause"], "gpu-throttled");
  EXPECT_EQ(verdict["where"]["rank"], 1);
  EXPECT_EQ(verdict["where"]["interface"], kHotGpu);
  EXPECT_THAT(verdict.dump(), HasSubstr("hardware-thermal"));
}

// 60 Gb/s of a link of 100 while kernels run for 40 % of the time.
class DiagnosedCopies : public DiagnosedHardware {
 protected:
  DiagnosedCopies() {
    b().event(0, record::kGpuProcess, kHotGpu);
    gauge(b(), record::kPcieCeiling, kHotGpu, 100'000);
    gauge(b(), record::kGpuPcieSent, kHotGpu, 60e9 / 8);
    gauge(b(), record::kGpuUtilization, kHotGpu, 40);
    gauge(b(), record::kPcieBusySpeed, kHotGpu, 16);
    b().fact("gpu", kHotGpu, "max_speed_gts", "16");
    b().fact("gpu", kHotGpu, "max_width", "16");
    collectives(2);
  }
};

TEST_F(DiagnosedCopies, OverALinkThatLostLanes) {
  gauge(b(), record::kPcieBusyWidth, kHotGpu, 4);
  const json verdict = diagnosed()["verdict"];
  EXPECT_EQ(verdict["class"], "pcie-gpu");
  EXPECT_EQ(verdict["cause"], "pcie-width");
  EXPECT_EQ(verdict["where"]["interface"], kHotGpu);
}

TEST_F(DiagnosedCopies, OverALinkThatIsWhole) {
  gauge(b(), record::kPcieBusyWidth, kHotGpu, 16);
  const json diagnosis = diagnosed();
  EXPECT_EQ(diagnosis["verdict"]["class"], "pcie-gpu");
  EXPECT_EQ(diagnosis["verdict"]["cause"], "copies");
  EXPECT_GT(diagnosis["accounting_ms_per_step"]["pcie"], 50);
}

}  // namespace
}  // namespace chokepoint::analysis
