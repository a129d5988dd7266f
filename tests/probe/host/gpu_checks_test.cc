#include "probe/host/gpu_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/checks/named.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

Checks checks_of(const host::Gpus& gpus, bool has_rdma = false) {
  Checks checks;
  check_gpus(gpus, host::Cpu(), has_rdma, checks);
  return checks;
}

Checks checks_of(const fakes::HostTree& tree) {
  return checks_of(host::read_gpus(tree.root(), host::read_gpu_states(tree.root())));
}

TEST(GpuLink, AnIdleGpuAtGen1IsNoAlarm) {
  const Checks checks = checks_of(fakes::HostTree::from_fixture("gpu-gen1-idle"));
  EXPECT_EQ(worst(checks), Status::Info);
  EXPECT_EQ(named(checks, "gpu.link-speed").found, "2.5 GT/s, P8, 0 % busy");
  EXPECT_EQ(named(checks, "gpu.link-width").status, Status::Pass);
  EXPECT_EQ(named(checks, "gpu.replays").status, Status::Pass);
  EXPECT_EQ(named(checks, "gpu.driver").status, Status::Pass);
}

TEST(GpuLink, AGpuAtGen2UnderLoadIsCritical) {
  const Check check =
      named(checks_of(fakes::HostTree::from_fixture("gpu-gen2-load")), "gpu.link-speed");
  EXPECT_EQ(check.status, Status::Critical);
  EXPECT_EQ(check.subject, "0000:3b:00.0");
  EXPECT_EQ(check.found, "5 GT/s, P0, 100 % busy");
  EXPECT_EQ(check.wanted, "16 GT/s");
  EXPECT_FALSE(check.next_step.empty());
}

TEST(GpuLink, MissingLanesAreCriticalEvenIdle) {
  const Checks checks = checks_of(fakes::HostTree::from_fixture("gpu-x8-idle"));
  EXPECT_EQ(named(checks, "gpu.link-width").status, Status::Critical);
  EXPECT_EQ(named(checks, "gpu.link-speed").status, Status::Info);
}

TEST(GpuLink, WithoutTheDriversWordALowSpeedIsUnknown) {
  const auto tree = fakes::HostTree::from_fixture("gpu-gen1-idle");
  tree.remove("/chokepoint/nvml.json");
  const Checks checks = checks_of(tree);
  EXPECT_EQ(named(checks, "gpu.link-speed").status, Status::Unknown);
  EXPECT_EQ(named(checks, "gpu.link-width").status, Status::Pass);
  EXPECT_EQ(named(checks, "gpu.driver").status, Status::Unknown);
}

host::Gpus one_gpu(host::PciLink current, std::optional<int> state, std::optional<int> busy) {
  host::Gpus gpus;
  gpus.gpus.emplace_back();
  gpus.gpus[0].current = current;
  gpus.gpus[0].possible = {16.0, 16};
  gpus.gpus[0].performance_state = state;
  gpus.gpus[0].utilisation_percent = busy;
  return gpus;
}

TEST(GpuLink, AGpuThatIsAwakeButNotBusyIsAWarning) {
  EXPECT_EQ(named(checks_of(one_gpu({5.0, 16}, 2, 0)), "gpu.link-speed").status, Status::Warning);
  EXPECT_EQ(named(checks_of(one_gpu({5.0, 16}, 3, 0)), "gpu.link-speed").status, Status::Info);
  EXPECT_EQ(named(checks_of(one_gpu({5.0, 16}, 3, 50)), "gpu.link-speed").status, Status::Critical);
  EXPECT_EQ(named(checks_of(one_gpu({16.0, 16}, 0, 100)), "gpu.link-speed").status, Status::Pass);
}

TEST(GpuLink, ALinkThatWasNotReadIsUnknown) {
  const Checks checks = checks_of(one_gpu({}, 0, 100));
  EXPECT_EQ(named(checks, "gpu.link-speed").status, Status::Unknown);
  EXPECT_EQ(named(checks, "gpu.link-width").status, Status::Unknown);
}

TEST(GpuReplays, AFewAreInfoAndManyAWarning) {
  host::Gpus gpus = one_gpu({16.0, 16}, 0, 0);
  EXPECT_EQ(std::ranges::count(checks_of(gpus), "gpu.replays", &Check::id), 0) << "not counted";
  gpus.gpus[0].replays = 3;
  EXPECT_EQ(named(checks_of(gpus), "gpu.replays").status, Status::Info);
  gpus.gpus[0].replays = 5000;
  EXPECT_EQ(named(checks_of(gpus), "gpu.replays").status, Status::Warning);
}

TEST(GpuDriver, ThatFailsIsCritical) {
  host::Gpus gpus = one_gpu({16.0, 16}, {}, {});
  gpus.problem = Error{ErrorKind::Io, "NVML", "", 0, "Driver/library version mismatch", {}};
  const Check check = named(checks_of(gpus), "gpu.driver");
  EXPECT_EQ(check.status, Status::Critical);
  EXPECT_THAT(check.why, testing::HasSubstr("mismatch"));
}

TEST(GpuDriver, NoGpuIsOneInfo) {
  const Checks checks = checks_of(host::Gpus());
  ASSERT_EQ(checks.size(), 1);
  EXPECT_EQ(checks[0].status, Status::Info);
}

TEST(GpuPeerPath, TranslationIsAWarningWhereDevicesTalkToEachOther) {
  host::Gpus gpus = one_gpu({16.0, 16}, 0, 0);
  gpus.gpus[0].iommu = "DMA-FQ";
  EXPECT_EQ(std::ranges::count(checks_of(gpus), "gpu.peer-path", &Check::id), 0);
  EXPECT_EQ(named(checks_of(gpus, true), "gpu.peer-path").status, Status::Warning);
  gpus.gpus[0].iommu = "identity";
  EXPECT_EQ(named(checks_of(gpus, true), "gpu.peer-path").status, Status::Pass);
}

}  // namespace
}  // namespace chokepoint::probe
