#include "probe/host/cpu_checks.h"

#include <gtest/gtest.h>

#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

host::Cpu with_policy(host::FrequencyPolicy policy) {
  host::Cpu cpu;
  cpu.online = 2;
  cpu.policies.push_back(std::move(policy));
  return cpu;
}

Check governor_of(const host::Cpu& cpu) {
  Checks checks;
  check_cpu(cpu, checks);
  EXPECT_EQ(checks.at(0).id, "cpu.governor");
  return checks.at(0);
}

host::FrequencyPolicy pstate(const std::string& driver, std::optional<std::string> preference) {
  return {.name = "policy0",
          .driver = driver,
          .governor = "powersave",
          .preference = std::move(preference),
          .base_khz = {},
          .allowed_khz = {},
          .most_khz = {}};
}

host::FrequencyPolicy acpi(const std::string& governor) {
  host::FrequencyPolicy policy = pstate("acpi-cpufreq", {});
  policy.governor = governor;
  return policy;
}

TEST(CpuGovernor, PerformancePasses) {
  EXPECT_EQ(governor_of(with_policy(acpi("performance"))).status, Status::Pass);
}

TEST(CpuGovernor, OneThatFollowsLoadIsAWarningWithTheCommand) {
  const Check check = governor_of(with_policy(acpi("schedutil")));
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_EQ(check.next_step, "cpupower frequency-set -g performance");
}

TEST(CpuGovernor, PowersaveOfAPstateDriverIsJudgedByItsPreference) {
  EXPECT_EQ(governor_of(with_policy(pstate("intel_pstate", "balance_performance"))).status,
            Status::Info);
  EXPECT_EQ(governor_of(with_policy(pstate("amd-pstate-epp", "power"))).status, Status::Warning);
  EXPECT_EQ(governor_of(with_policy(pstate("intel_pstate", {}))).status, Status::Info);
}

TEST(CpuGovernor, PowersaveOfAnotherDriverPinsToTheLowestFrequency) {
  EXPECT_EQ(governor_of(with_policy(acpi("powersave"))).status, Status::Warning);
}

TEST(CpuGovernor, TheWorstPolicyCounts) {
  host::Cpu cpu = with_policy(acpi("performance"));
  cpu.policies.push_back(acpi("ondemand"));
  EXPECT_EQ(governor_of(cpu).status, Status::Warning);
  EXPECT_EQ(governor_of(cpu).found, "ondemand, performance");
}

TEST(CpuGovernor, AVirtualMachineHasNoneAndThatIsNoFault) {
  host::Cpu cpu;
  cpu.online = 2;
  cpu.virtualised = true;
  EXPECT_EQ(governor_of(cpu).status, Status::Info);
}

TEST(CpuGovernor, AHostThatTellsNothingIsUnknown) {
  EXPECT_EQ(governor_of(host::Cpu()).status, Status::Unknown);
}

TEST(CpuFrequency, ACapBelowTheHardwareIsAWarning) {
  host::FrequencyPolicy policy = acpi("performance");
  policy.allowed_khz = 2'000'000;
  policy.most_khz = 4'000'000;
  Checks checks;
  check_cpu(with_policy(policy), checks);
  ASSERT_EQ(checks.size(), 2);
  EXPECT_EQ(checks[1].id, "cpu.frequency");
  EXPECT_EQ(checks[1].status, Status::Warning);
  EXPECT_EQ(checks[1].next_step, "cpupower frequency-set -u 4000000");
  policy.allowed_khz = policy.most_khz;
  checks.clear();
  check_cpu(with_policy(policy), checks);
  EXPECT_EQ(checks.at(1).status, Status::Pass);
}

TEST(CpuIsolated, IsToldOnlyWhereThereAreAny) {
  host::Cpu cpu;
  cpu.isolated = "";
  Checks checks;
  check_cpu(cpu, checks);
  EXPECT_EQ(checks.size(), 1);
  cpu.isolated = "2-7";
  check_cpu(cpu, checks);
  EXPECT_EQ(checks.back().id, "cpu.isolated");
  EXPECT_EQ(checks.back().status, Status::Info);
}

Check numa_of(std::vector<host::NumaNode> nodes, const host::Sysctls& sysctls = {}) {
  host::Memory memory;
  memory.nodes = std::move(nodes);
  Checks checks;
  check_numa(memory, sysctls, checks);
  return checks.at(0);
}

TEST(CpuNuma, MemoryOnEveryNodePasses) {
  const Check check =
      numa_of({{"node0", "0-15", 128 * kGibibyte}, {"node1", "16-31", 128 * kGibibyte}});
  EXPECT_EQ(check.status, Status::Pass);
  EXPECT_EQ(check.found, "node0: CPUs 0-15, 128 GiB; node1: CPUs 16-31, 128 GiB");
}

TEST(CpuNuma, ASocketWithoutMemoryIsAWarning) {
  EXPECT_EQ(numa_of({{"node0", "0-15", kGibibyte}, {"node1", "16-31", 0}}).status, Status::Warning);
}

TEST(CpuNuma, MemoryWithoutProcessorsIsNot) {
  EXPECT_EQ(numa_of({{"node0", "0-15", kGibibyte}, {"node1", "", kGibibyte}}).status, Status::Pass);
}

TEST(CpuNuma, BalancingIsToldWithSeveralNodesOnly) {
  const host::Sysctls balancing(host::Sysctls::Values{{"kernel.numa_balancing", "1"}});
  EXPECT_EQ(numa_of({{"node0", "0", kGibibyte}}, balancing).status, Status::Pass);
  EXPECT_EQ(numa_of({{"node0", "0", kGibibyte}, {"node1", "1", kGibibyte}}, balancing).status,
            Status::Info);
}

}  // namespace
}  // namespace chokepoint::probe
