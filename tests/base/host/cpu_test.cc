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

TEST(Cpu, OfArmHasNumbersForAName) {
  const auto tree = fakes::HostTree::from_text(R"(
/proc/cpuinfo <<END
processor	: 0
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x0
CPU part	: 0xd85
CPU revision	: 1
END
)");
  EXPECT_EQ(read_cpu(tree.root()).model, "Arm, implementer 0x41, part 0xd85");
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

CoreTimes read(const char* cpu0, const char* cpu1) {
  const auto host =
      fakes::HostTree::from_text(std::string("/proc/stat <<END\ncpu  9 9 9 9 9 9 9 9\ncpu0 ") +
                                 cpu0 + "\ncpu1 " + cpu1 + "\nintr 5\nEND\n");
  return read_core_times(host.root()).value();
}

TEST(CpuTime, TheBusiestCoresAreFoundByTheDifference) {
  //                          user nice system idle iowait irq softirq steal
  const CoreTimes before = read("100 0 100 100 0 0 50 0", "0 0 0 0 0 0 0 0");
  const CoreTimes after = read("100 0 100 190 0 0 60 0", "80 0 10 5 5 0 0 0");
  const auto found = busiest(before, after);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->softirq_core, 0);
  EXPECT_DOUBLE_EQ(found->softirq_percent, 10);
  EXPECT_DOUBLE_EQ(found->busy_percent, 90);
}

TEST(CpuTime, NoTimeNoShare) {
  const CoreTimes same = read("1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 8");
  EXPECT_FALSE(busiest(same, same));
  EXPECT_FALSE(busiest({}, same));
}

TEST(CpuTime, AHostThatDoesNotTellIsAnError) {
  EXPECT_FALSE(read_core_times(sys::Root("/nowhere")));
}

constexpr const char* kTable =
    "           CPU0       CPU1\n"
    " 37:          5         11 PCI-MSIX-0000:00:03.0   0-edge      virtio2-input.0\n"
    " 38:          0          2  GICv3  34 Level     eth0\n"
    "NMI:          1          1   Non-maskable interrupts\n"
    "ERR:          0\n";

TEST(Interrupts, ReadsNumberNameAndCounts) {
  const InterruptTable table = parse_interrupts(kTable);
  ASSERT_EQ(table.size(), 2);
  EXPECT_EQ(table.at(37).name, "virtio2-input.0");
  EXPECT_EQ(table.at(37).counts, (std::vector<std::int64_t>{5, 11}));
  EXPECT_EQ(table.at(38).name, "eth0");
}

TEST(Interrupts, SurvivesRubbish) {
  EXPECT_TRUE(parse_interrupts("").empty());
  EXPECT_TRUE(parse_interrupts(":\n 1 : 2\nx: 3").empty());
}

TEST(Interrupts, PrefersTheEffectiveAffinity) {
  const auto tree = fakes::HostTree::from_text(
      "/proc/irq/37/smp_affinity_list = 0-1\n"
      "/proc/irq/37/effective_affinity_list = 1\n"
      "/proc/irq/38/smp_affinity_list = 0-1\n");
  const auto interrupts = read_affinity(tree.root(), parse_interrupts(kTable), {37, 38, 39});
  ASSERT_EQ(interrupts.size(), 3);
  EXPECT_EQ(interrupts[0].cpus, CpuSet{1});
  EXPECT_EQ(interrupts[1].cpus, (CpuSet{0, 1}));
  EXPECT_EQ(interrupts[2].cpus, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::host
