#include "base/host/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

constexpr const char* kTwoCoresFourThreads = R"(
/proc/cpuinfo <<END
processor	: 0
model name	: AMD EPYC 7443 24-Core Processor
flags		: fpu vme sse4_2
END
/sys/devices/system/cpu/online = 0-3
/sys/devices/system/cpu/cpu0/topology/core_id = 0
/sys/devices/system/cpu/cpu1/topology/core_id = 1
/sys/devices/system/cpu/cpu2/topology/core_id = 0
/sys/devices/system/cpu/cpu3/topology/core_id = 1
/sys/devices/system/cpu/smt/active = 1
/sys/devices/system/cpu/isolated = \n
/sys/devices/system/cpu/cpufreq/policy0/scaling_driver = intel_pstate
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor = powersave
/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference = balance_power
/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq = 2000000
/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq = 4000000
)";

TEST(Cpu, ReadsWhatTheKernelTells) {
  const Cpu cpu = read_cpu(fakes::HostTree::from_text(kTwoCoresFourThreads).root());
  EXPECT_EQ(cpu.model, "AMD EPYC 7443 24-Core Processor");
  EXPECT_EQ(cpu.online, 4);
  EXPECT_EQ(cpu.cores, 2);
  EXPECT_EQ(cpu.multithreading, true);
  EXPECT_EQ(cpu.virtualised, false);
  EXPECT_EQ(cpu.isolated, "");
  ASSERT_EQ(cpu.policies.size(), 1);
  EXPECT_EQ(cpu.policies[0].governor, "powersave");
  EXPECT_EQ(cpu.policies[0].preference, "balance_power");
  EXPECT_EQ(cpu.policies[0].allowed_khz, 2'000'000);
  EXPECT_EQ(cpu.policies[0].base_khz, std::nullopt);
}

TEST(Cpu, AFlagTellsAVirtualMachine) {
  const auto tree = fakes::HostTree::from_text("/proc/cpuinfo = flags\t\t: fpu hypervisor lm\n");
  EXPECT_EQ(read_cpu(tree.root()).virtualised, true);
}

TEST(Cpu, WithoutFlagsTheProductNameTells) {
  const auto tree = fakes::HostTree::from_text(
      "/proc/cpuinfo = Features\t: fp asimd\n"
      "/sys/class/dmi/id/product_name = KVM Virtual Machine\n");
  EXPECT_EQ(read_cpu(tree.root()).virtualised, true);
}

TEST(Cpu, WhatIsNotThereIsNotKnown) {
  const Cpu cpu = read_cpu(fakes::HostTree::from_text("").root());
  EXPECT_EQ(cpu.model, std::nullopt);
  EXPECT_EQ(cpu.online, std::nullopt);
  EXPECT_EQ(cpu.cores, std::nullopt);
  EXPECT_EQ(cpu.virtualised, std::nullopt);
  EXPECT_EQ(cpu.isolated, std::nullopt);
}

TEST(Cpu, EveryFactNamesItsSource) {
  Facts facts;
  append_facts(read_cpu(fakes::HostTree::from_text(kTwoCoresFourThreads).root()), facts);
  EXPECT_THAT(facts,
              testing::Contains(testing::AllOf(
                  testing::Field(&Fact::subject, "policy0"), testing::Field(&Fact::key, "governor"),
                  testing::Field(&Fact::value, "powersave"),
                  testing::Field(&Fact::source,
                                 "/sys/devices/system/cpu/cpufreq/policy0/"
                                 "scaling_governor"))));
  for (const Fact& fact : facts) {
    EXPECT_FALSE(fact.source.empty()) << fact.key;
  }
}

}  // namespace
}  // namespace chokepoint::host
