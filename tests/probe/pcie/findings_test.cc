#include "probe/pcie/findings.h"

#include <gmock/gmock.h>

#include "tests/fakes/host_tree.h"
#include "tests/probe/pcie/rates.h"

namespace chokepoint::probe::pcie {
namespace {

using checks::Check;
using checks::Checks;
using checks::Status;

constexpr host::PciLink kGen5{.speed_gts = 32, .width = 16};
constexpr host::PciLink kGen4{.speed_gts = 16, .width = 16};
constexpr host::PciLink kGen1{.speed_gts = 2.5, .width = 16};

// A Gen5 GPU below a root port of node 0, and copies that are as good as they get.
Device gpu() {
  return {.kind = Kind::Gpu,
          .address = "0000:af:00.0",
          .names = {"NVIDIA H200"},
          .pci = {.address = "0000:af:00.0",
                  .numa_node = 0,
                  .local_cpus = "0-15",
                  .path = {{.address = "0000:a0:01.0", .current = kGen1, .possible = kGen5},
                           {.address = "0000:af:00.0", .current = kGen1, .possible = kGen5}}},
          .link = kGen1,
          .possible = kGen5};
}

GpuOutcome outcome() {
  GpuOutcome good{.number = 0,
                  .address = "0000:af:00.0",
                  .name = "NVIDIA H200",
                  .engines = 3,
                  .bytes = 512 << 20,
                  .near_node = 0,
                  .far_node = 1,
                  .pinned = {55 * kGigabyte, 56 * kGigabyte, 104 * kGigabyte},
                  .pageable = {50 * kGigabyte, 50 * kGigabyte, 60 * kGigabyte},
                  .far = {54 * kGigabyte, 54 * kGigabyte, 100 * kGigabyte},
                  .two_streams_mbps = 55 * kGigabyte};
  good.link = {.idle = kGen1, .best = kGen5, .last = kGen5, .hops = gpu().pci.path, .looks = 25};
  good.link.hops[0].current = kGen5;
  good.link.replays_before = good.link.replays_after = 3;
  good.link.errors_before = good.link.errors_after = 0;
  good.verified_bytes = 5'000'000'000;
  return good;
}

class GpuFindings : public testing::Test {
 protected:
  Check check(std::string_view id, const Thresholds& thresholds = {}) {
    checks_.clear();
    judge_gpu(device_, outcome_, cpus_, thresholds, checks_);
    const auto found = std::ranges::find(checks_, id, &Check::id);
    return found == checks_.end() ? Check{.id = "none"} : *found;
  }

  Device device_ = gpu();
  GpuOutcome outcome_ = outcome();
  std::vector<int> cpus_ = {0, 1, 2, 3};
  Checks checks_;
};

TEST_F(GpuFindings, AGoodSlotPasses) {
  judge_gpu(device_, outcome_, cpus_, {}, checks_);
  for (const Check& check : checks_) {
    EXPECT_EQ(check.status, Status::Pass) << check.id << ": " << check.found;
  }
  EXPECT_EQ(check("pcie.copies").found, "55.0 GB/s to the GPU, 95 %");
  EXPECT_EQ(check("pcie.copies").wanted,
            "75 % of 57.6 GB/s: 32 GT/s x16 at 0000:af:00.0, payload 256 bytes assumed");
}

TEST_F(GpuFindings, ALinkThatStaysSlowUnderLoadIsCritical) {
  outcome_.link.best = outcome_.link.last = kGen4;
  const Check slow = check("pcie.link-under-load");
  EXPECT_EQ(slow.status, Status::Critical);
  EXPECT_EQ(slow.found, "16 GT/s x16");
  EXPECT_EQ(slow.wanted, "32 GT/s x16");
  EXPECT_THAT(slow.next_step, testing::HasSubstr("-i 0000:af:00.0"));
}

TEST_F(GpuFindings, LanesThatAreMissingAreCritical) {
  outcome_.link.best.width = 8;
  EXPECT_EQ(check("pcie.link-under-load").status, Status::Critical);
}

TEST_F(GpuFindings, ALinkThatNobodySawIsUnknownNotSlow) {
  outcome_.link.looks = 0;
  EXPECT_EQ(check("pcie.link-under-load").status, Status::Unknown);
  // What copies reach is then held against what the link can do.
  EXPECT_EQ(check("pcie.copies").status, Status::Pass);
}

TEST_F(GpuFindings, ALinkThatComesDownMeanwhileIsCritical) {
  outcome_.link.last.width = 4;
  const Check fell = check("pcie.link-steady");
  EXPECT_EQ(fell.status, Status::Critical);
  EXPECT_EQ(fell.found, "32 GT/s x4");
}

TEST_F(GpuFindings, ALinkAboveThatIsNarrowIsNamed) {
  const host::PciHop port{
      .address = "0000:90:01.0", .current = {.speed_gts = 32, .width = 4}, .possible = kGen5};
  const host::PciHop up{.address = "0000:91:00.0", .current = port.current, .possible = kGen5};
  device_.pci.path.insert(device_.pci.path.begin(), {port, up});
  outcome_.link.hops.insert(outcome_.link.hops.begin(), {port, up});
  const Check narrow = check("pcie.path");
  EXPECT_EQ(narrow.status, Status::Warning);
  EXPECT_EQ(narrow.found, "32 GT/s x4 at 0000:90:01.0");
  EXPECT_THAT(check("pcie.copies").wanted, testing::HasSubstr("14.4 GB/s"));
}

TEST_F(GpuFindings, CopiesFarBelowTheLinkAreFound) {
  outcome_.pinned.to_gpu_mbps = 40 * kGigabyte;
  EXPECT_EQ(check("pcie.copies").status, Status::Warning);
  outcome_.pinned.from_gpu_mbps = 20 * kGigabyte;
  const Check slow = check("pcie.copies");
  EXPECT_EQ(slow.status, Status::Critical);
  EXPECT_EQ(slow.found, "20.0 GB/s from the GPU, 35 %");
}

TEST_F(GpuFindings, SmallCopiesAreNoMeasureOfALink) {
  outcome_.pinned = {5 * kGigabyte, 5 * kGigabyte, 6 * kGigabyte};
  outcome_.bytes = 64 << 10;
  EXPECT_EQ(check("pcie.copies").status, Status::Unknown);
  EXPECT_EQ(check("pcie.both-ways").status, Status::Unknown);
  outcome_.pinned = outcome().pinned;
  EXPECT_EQ(check("pcie.copies").status, Status::Pass);
}

TEST_F(GpuFindings, AThresholdThatWasAskedForDecides) {
  EXPECT_EQ(check("pcie.copies", {.min_percent = 97}).status, Status::Critical);
  EXPECT_EQ(check("pcie.copies", {.min_percent = 90}).status, Status::Pass);
}

TEST_F(GpuFindings, CopiesWithoutAKnownLinkAreNotJudged) {
  device_.pci.path.clear();
  device_.link = device_.possible = {};
  outcome_.link = {};
  EXPECT_EQ(check("pcie.copies").status, Status::Unknown);
}

TEST_F(GpuFindings, BothWaysAtOnceThatBringLessAreFound) {
  outcome_.pinned.both_mbps = 60 * kGigabyte;
  EXPECT_EQ(check("pcie.both-ways").status, Status::Warning);
  outcome_.engines = 1;
  EXPECT_EQ(check("pcie.both-ways").status, Status::Info);
  outcome_.pinned.both_mbps = 7 * kGigabyte;
  EXPECT_EQ(check("pcie.both-ways").status, Status::Critical);
}

TEST_F(GpuFindings, AJobOnTheFarNodeIsWarnedWhereThatCosts) {
  outcome_.far.to_gpu_mbps = 30 * kGigabyte;
  cpus_ = {16, 17};
  const Check far = check("pcie.numa");
  EXPECT_EQ(far.status, Status::Warning);
  EXPECT_EQ(far.found,
            "0 of 2 usable CPUs are on its node 0; 55.0 GB/s from it, 30.0 GB/s from node 1");
  EXPECT_EQ(far.wanted, "the rank of this GPU on CPUs 0-15");
  EXPECT_EQ(far.next_step, "numactl --cpunodebind=0 --membind=0 COMMAND");
  cpus_ = {0, 16};
  EXPECT_EQ(check("pcie.numa").status, Status::Info);
  outcome_.far.to_gpu_mbps = 54 * kGigabyte;
  EXPECT_EQ(check("pcie.numa").status, Status::Pass);
}

TEST_F(GpuFindings, ReplaysAndErrorsThatRoseAreFound) {
  outcome_.link.replays_after = 10;
  EXPECT_EQ(check("pcie.replays").status, Status::Warning);
  EXPECT_EQ(check("pcie.replays").found, "7 more");
  outcome_.link.errors_after = 1;
  EXPECT_EQ(check("pcie.errors-under-load").status, Status::Warning);
  outcome_.link.replays_before.reset();
  EXPECT_EQ(check("pcie.replays").id, "none");
}

TEST_F(GpuFindings, PageableMemoryThatIsSlowIsWorthALine) {
  outcome_.pageable.to_gpu_mbps = 9 * kGigabyte;
  EXPECT_EQ(check("pcie.pageable").status, Status::Info);
}

TEST_F(GpuFindings, DataThatChangedIsCritical) {
  outcome_.wrong = {"to the GPU from pinned memory: byte 5 of 4096 differs"};
  const Check wrong = check("pcie.data");
  EXPECT_EQ(wrong.status, Status::Critical);
  EXPECT_EQ(wrong.found, "to the GPU from pinned memory: byte 5 of 4096 differs");
}

TEST_F(GpuFindings, WhatCouldNotBeMeasuredIsTold) {
  outcome_.problems = {"pinned memory: out of memory"};
  EXPECT_EQ(check("pcie.measured").status, Status::Warning);
  EXPECT_EQ(check("pcie.measured").why, "pinned memory: out of memory");
}

TEST_F(GpuFindings, NothingMeasuredIsNothingJudgedButTheLink) {
  outcome_ = GpuOutcome{.address = "0000:af:00.0"};
  EXPECT_EQ(check("pcie.link-under-load").status, Status::Unknown);
  EXPECT_EQ(checks_.size(), 1U);
}

class HostFindings : public testing::Test {
 protected:
  static Checks judged(const std::string& fixture, const Measured* measured = nullptr) {
    const auto tree = fakes::HostTree::from_fixture(fixture);
    const Slots slots = read_slots(tree.root(), host::read_recorded_gpus(tree.root()));
    return judge(slots, host::read_cpu(tree.root()), measured, {});
  }
  static Check of(const Checks& checks, std::string_view id, std::string_view subject) {
    const auto found = std::ranges::find_if(
        checks, [&](const Check& check) { return check.id == id && check.subject == subject; });
    return found == checks.end() ? Check{.id = "none"} : *found;
  }
};

TEST_F(HostFindings, ANicsSlotIsJudgedWithoutAGpu) {
  const Checks checks = judged("switch-x4");
  EXPECT_EQ(of(checks, "pci.bandwidth", "ens1np0").status, Status::Critical);
}

TEST_F(HostFindings, GpusThatWereNotMeasuredAreJudgedByWhatTheDriverTells) {
  EXPECT_EQ(of(judged("gpu-gen2-load"), "gpu.link-speed", "0000:3b:00.0").status, Status::Critical);
}

TEST_F(HostFindings, GpusThatCudaDoesNotSeeAreUnknown) {
  Measured measured;
  measured.problem = Error{ErrorKind::Io, "CUDA", "libcuda.so.1", 0, "driver mismatch"};
  const Check check = of(judged("pcie-switch", &measured), "pcie.measured", "host");
  EXPECT_EQ(check.status, Status::Unknown);
  EXPECT_EQ(check.why, "CUDA: libcuda.so.1: driver mismatch");
}

TEST_F(HostFindings, AGpuWithoutANicOnItsNodeIsTold) {
  const Checks checks = judged("pcie-two-sockets");
  EXPECT_EQ(of(checks, "pcie.nearest-nic", "0000:af:00.0").status, Status::Pass);
  EXPECT_EQ(of(checks, "pcie.nearest-nic", "0000:b0:00.0").status, Status::Info);
}

TEST_F(HostFindings, AVirtualMachineHidesWhatIsNear) {
  const Check check = of(judged("pcie-vm"), "pcie.nearest-nic", "0000:00:05.0");
  EXPECT_EQ(check.status, Status::Info);
  EXPECT_THAT(check.next_step, testing::HasSubstr("NCCL_TOPO_FILE"));
}

TEST_F(HostFindings, AGpuThatCudaAloneShowsIsJudged) {
  Measured measured;
  measured.gpus = {{.number = 3, .problems = {"open: device is lost"}}};
  const Check check = of(judged("healthy", &measured), "pcie.measured", "GPU 3");
  EXPECT_EQ(check.why, "open: device is lost");
}

}  // namespace
}  // namespace chokepoint::probe::pcie
