#include "probe/host/nic_setting_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using testing::HasSubstr;

host::Network sixteen_cpus() { return {.cpus = 16}; }

net::Rings rings_of(std::int64_t ring, std::int64_t maximum) {
  return {.rx = ring, .tx = ring, .rx_max = maximum, .tx_max = maximum};
}

TEST(NicSettingChecks, ACarelessImageIsToldAllOfIt) {
  const Checks checks = checked_fixture("untuned-100g");
  const char* port = "ens1f0np0";
  for (const char* id : {"nic.mtu", "nic.rings", "nic.queues", "nic.coalescing", "nic.offloads",
                         "nic.qdisc", "nic.drops", "nic.pauses"}) {
    EXPECT_EQ(find_check(checks, id, port).status, Status::Warning) << id;
  }
  EXPECT_EQ(find_check(checks, "nic.rings", port).next_step,
            "ethtool -G ens1f0np0 rx 8192 tx 8192");
  EXPECT_EQ(find_check(checks, "nic.queues", port).next_step, "ethtool -L ens1f0np0 combined 16");
  EXPECT_EQ(find_check(checks, "nic.offloads", port).next_step,
            "ethtool -K ens1f0np0 gro on tso on lro off");
}

struct RingCase {
  std::int64_t speed_mbps;
  std::int64_t ring;
  std::int64_t maximum;
  Status status;
};

TEST(NicSettingChecks, RingsAreJudgedBySpeed) {
  for (const RingCase& each : {
           RingCase{100'000, 1024, 8192, Status::Warning},
           RingCase{100'000, 8192, 8192, Status::Pass},
           RingCase{100'000, 8192, 16384, Status::Pass},
           RingCase{100'000, 2047, 2047, Status::Pass},
           RingCase{25'000, 512, 8192, Status::Warning},
           RingCase{25'000, 2048, 8192, Status::Info},
           RingCase{1'000, 256, 4096, Status::Pass},
           RingCase{1'000, 64, 4096, Status::Info},
       }) {
    host::Nic nic = sound_port(each.speed_mbps);
    nic.settings.rings = rings_of(each.ring, each.maximum);
    EXPECT_EQ(only(check_rings, nic).status, each.status) << each.speed_mbps << " " << each.ring;
  }
}

TEST(NicSettingChecks, OnlyTheShortRingIsLengthened) {
  host::Nic nic = sound_port(100'000);
  nic.settings.rings = {.rx = 1024, .tx = 8160, .rx_max = 8160, .tx_max = 8160};
  EXPECT_EQ(only(check_rings, nic).next_step, "ethtool -G eth0 rx 8160");
}

TEST(NicSettingChecks, FixedModerationIsAChoiceAnInterruptAPacketIsNot) {
  host::Nic nic = sound_port(100'000);
  nic.settings.coalescing = {.adaptive_rx = true, .rx_usecs = 0};
  EXPECT_EQ(only(check_coalescing, nic).status, Status::Pass);
  nic.settings.coalescing = {.adaptive_rx = false, .rx_usecs = 16};
  EXPECT_EQ(only(check_coalescing, nic).status, Status::Info);
  nic.settings.coalescing = {.adaptive_rx = false, .rx_usecs = 0};
  EXPECT_EQ(only(check_coalescing, nic).status, Status::Warning);
}

TEST(NicSettingChecks, AnOffloadThatCannotBeTurnedOnIsNoAlarm) {
  host::Nic nic = sound_port(100'000);
  nic.settings.features = {{.name = "rx-gro", .active = true},
                           {.name = "tx-tcp-segmentation", .active = false, .fixed = true}};
  const Check check = only(check_offloads, nic);
  EXPECT_EQ(check.status, Status::Info);
  EXPECT_THAT(check.found, HasSubstr("tso off"));
  EXPECT_TRUE(check.next_step.empty());
}

TEST(NicSettingChecks, OneOfSeveralChecksumFlavoursSuffices) {
  host::Nic nic = sound_port(100'000);
  nic.settings.features = {{.name = "tx-checksum-ipv4", .active = false, .fixed = true},
                           {.name = "tx-checksum-ip-generic", .active = true},
                           {.name = "rx-gro-hw", .active = false}};
  EXPECT_EQ(only(check_offloads, nic).status, Status::Pass);
}

TEST(NicSettingChecks, QdiscsAreJudgedBySpeedAndShapersAlways) {
  const auto judged = [](std::int64_t speed, std::vector<std::string> qdiscs) {
    host::Nic nic = sound_port(speed);
    nic.settings.qdiscs = std::move(qdiscs);
    return only(check_qdisc, nic).status;
  };
  EXPECT_EQ(judged(100'000, {"mq", "fq"}), Status::Pass);
  EXPECT_EQ(judged(100'000, {"mq", "pfifo_fast"}), Status::Warning);
  EXPECT_EQ(judged(10'000, {"pfifo_fast"}), Status::Info);
  EXPECT_EQ(judged(1'000, {"pfifo_fast"}), Status::Pass);
  EXPECT_EQ(judged(1'000, {"netem"}), Status::Warning);
  EXPECT_EQ(judged(1'000, {"tbf", "fq"}), Status::Warning);
  // It shapes only where a bandwidth is set, which is not known.
  EXPECT_EQ(judged(100'000, {"cake"}), Status::Info);
  EXPECT_EQ(judged(1'000, {"htb", "cake"}), Status::Warning);
}

TEST(NicSettingChecks, QueuesAreJudgedBySpeedAndCpus) {
  host::Nic nic = sound_port(100'000);
  nic.settings.channels = {.combined = 4, .combined_max = 63};
  EXPECT_EQ(only(check_queues, sixteen_cpus(), nic).status, Status::Warning);
  EXPECT_EQ(only(check_queues, {.cpus = 4}, nic).status, Status::Pass);
  nic.settings.channels = {.combined = 8, .combined_max = 63};
  EXPECT_EQ(only(check_queues, sixteen_cpus(), nic).status, Status::Pass);
  nic.settings.channels = {.rx = 1, .rx_max = 8};
  EXPECT_EQ(only(check_queues, sixteen_cpus(), nic).next_step, "ethtool -L eth0 rx 8");
  nic.rps_queues = 1;
  EXPECT_EQ(only(check_queues, sixteen_cpus(), nic).status, Status::Info);
}

TEST(NicSettingChecks, ASlowPortIsNotNaggedAboutQueuesAndCoalescing) {
  host::Nic nic = sound_port(1'000);
  nic.settings.channels = {.combined = 1, .combined_max = 8};
  nic.settings.coalescing = {.adaptive_rx = false, .rx_usecs = 0};
  Checks checks;
  check_queues(sixteen_cpus(), nic, checks);
  check_coalescing(nic, checks);
  EXPECT_TRUE(checks.empty());
}

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
