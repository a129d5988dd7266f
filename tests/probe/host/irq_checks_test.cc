#include "probe/host/irq_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using testing::HasSubstr;

TEST(IrqChecks, QueuesOnOneCpuOfTheOtherSocketAreTwoFindings) {
  const Checks checks = checked_fixture("irq-one-cpu");
  const Check irq = find_check(checks, "nic.irq", "eth0");
  EXPECT_EQ(irq.status, Status::Warning);
  EXPECT_THAT(irq.found, HasSubstr("8 queues on CPUs 0"));
  EXPECT_THAT(irq.next_step, HasSubstr("echo 8-15 > /proc/irq/$i/smp_affinity_list"));
  const Check numa = find_check(checks, "nic.numa", "eth0");
  EXPECT_EQ(numa.status, Status::Warning);
  EXPECT_THAT(numa.found, HasSubstr("8 of 8 queues"));
}

TEST(IrqChecks, QueuesSpreadOverThePortsNodePass) {
  const Checks checks = checked_fixture("e810-gen3-x8");
  EXPECT_EQ(find_check(checks, "nic.irq", "enp3s0np0").status, Status::Pass);
  EXPECT_EQ(find_check(checks, "nic.numa", "enp3s0np0").status, Status::Pass);
}

TEST(IrqChecks, FewerRemoteQueuesThanLocalOnesAreALine) {
  host::Network network = network_of("irq-one-cpu");
  for (host::Nic& nic : network.nics) {
    for (std::size_t i = 0; i + 2 < nic.interrupts.size(); ++i) {
      nic.interrupts[i].cpus = host::CpuSet{static_cast<int>(8 + i)};
    }
  }
  const host::Nic& nic = *find(network, "eth0");
  EXPECT_EQ(only(check_irq, network, nic).status, Status::Pass);
  EXPECT_EQ(only(check_nic_numa, network, nic).status, Status::Info);
}

TEST(IrqChecks, UnreadableAffinityIsUnknown) {
  host::Nic nic = sound_port(100'000);
  nic.interrupts = {{.number = 1}, {.number = 2}};
  EXPECT_EQ(only(check_irq, {.cpus = 4}, nic).status, Status::Unknown);
}

TEST(IrqChecks, AFastPortOfNoKnownNodeIsUnknownOnTwoSockets) {
  const host::Nic nic = sound_port(100'000);
  EXPECT_EQ(only(check_nic_numa, {.numa_nodes = 2}, nic).status, Status::Unknown);
  Checks checks;
  check_nic_numa({.numa_nodes = 1}, nic, checks);
  check_nic_numa({.numa_nodes = 2}, sound_port(1'000), checks);
  EXPECT_TRUE(checks.empty());
}

}  // namespace
}  // namespace chokepoint::probe
