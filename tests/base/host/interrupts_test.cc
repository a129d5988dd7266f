#include "base/host/interrupts.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

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
