// The facts that an agent reports of its host: a part of service.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json/codec.h"
#include "preflight/agent/service.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::preflight {
namespace {

using host::NicKind;

HostFacts facts_of_fixture(const std::string& fixture) {
  return read_facts(fakes::HostTree::from_fixture(fixture).root());
}

TEST(Facts, OfAHostWithACard) {
  const HostFacts facts = facts_of_fixture("e810-gen3-x8");
  const auto port = std::ranges::find(facts.interfaces, "enp3s0np0", &InterfaceFacts::name);
  ASSERT_NE(port, facts.interfaces.end());
  EXPECT_TRUE(port->is_port);
  EXPECT_EQ(port->speed_mbps, 100'000);
  // What eight lanes of the third generation carry, less than the card's 100 Gb/s.
  EXPECT_GT(port->pci_mbps.value(), 50'000);
  EXPECT_LT(port->pci_mbps.value(), 63'000);
  EXPECT_EQ(port->addresses.size(), port->networks.size());
}

TEST(Facts, BuffersAndCongestionControl) {
  const fakes::HostTree tree = fakes::HostTree::from_text(
      "/proc/sys/net/ipv4/tcp_rmem = 4096 131072 6291456\n"
      "/proc/sys/net/ipv4/tcp_wmem = 4096 16384 4194304\n"
      "/proc/sys/net/ipv4/tcp_congestion_control = cubic\n"
      "/proc/sys/kernel/hostname = gpu7\n");
  const HostFacts facts = read_facts(tree.root());
  EXPECT_EQ(facts.host, "gpu7");
  EXPECT_EQ(facts.receive_buffer_bytes, 6'291'456);
  EXPECT_EQ(facts.send_buffer_bytes, 4'194'304);
  EXPECT_EQ(facts.congestion_control, "cubic");
}

TEST(Facts, WhatAHostDoesNotShowIsNotKnown) {
  const HostFacts facts = read_facts(fakes::HostTree::from_text("").root());
  EXPECT_EQ(facts.receive_buffer_bytes, std::nullopt);
  EXPECT_EQ(facts.cpus, std::nullopt);
  EXPECT_TRUE(facts.interfaces.empty());
}

TEST(Facts, TravelWhateverTheHost) {
  for (const char* fixture : {"bond-and-rails", "rdma-mlx5", "rdma-rxe", "dual-stack-loopback-name",
                              "pcie-vm", "container-bare", "gpu-x8-idle"}) {
    const HostFacts facts = facts_of_fixture(fixture);
    EXPECT_EQ(json::from_json<HostFacts>(json::to_json(facts), "facts").value(), facts) << fixture;
  }
}

TEST(Facts, OfAHostOfManyContainersStayWithinBounds) {
  host::Network network;
  for (int i = 0; i < 3000; ++i) {
    network.nics.push_back({.name = "veth" + std::to_string(i), .kind = NicKind::Veth});
  }
  host::Nic loopback{.name = "lo", .kind = NicKind::Loopback};
  const net::InterfaceAddress own{net::Address::parse("10.0.0.1").value(), 32};
  loopback.settings.addresses.assign(2000, own);
  network.nics.push_back(loopback);
  const HostFacts facts = facts_of(fakes::HostTree::from_text("").root(), network);
  ASSERT_EQ(facts.interfaces.size(), 1U);
  EXPECT_EQ(facts.interfaces[0].networks.at(255), "10.0.0.1/32");
  EXPECT_TRUE(json::from_json<HostFacts>(json::to_json(facts), "facts"));
  network.nics.insert(network.nics.end(), 3000, loopback);
  EXPECT_TRUE(json::from_json<HostFacts>(
      json::to_json(facts_of(fakes::HostTree::from_text("").root(), network)), "facts"));
}

TEST(Facts, AnRdmaPortInSoftwareHasNoSpeedOfItsOwn) {
  const HostFacts software = facts_of_fixture("rdma-rxe");
  ASSERT_FALSE(software.rdma.empty());
  EXPECT_EQ(software.rdma[0].speed_mbps, std::nullopt);
  const HostFacts hardware = facts_of_fixture("rdma-mlx5");
  ASSERT_FALSE(hardware.rdma.empty());
  EXPECT_GT(hardware.rdma[0].speed_mbps.value(), 0);
  EXPECT_FALSE(hardware.rdma[0].device.empty());
}

// Each reading takes a microsecond.
class Clock final : public sys::Clock {
 public:
  std::int64_t monotonic_ns() const override { return 5'000'000 + 1000 * readings_++; }
  std::int64_t wall_ns() const override { return 1'795'000'000'005'000'000 + 1000 * readings_++; }

 private:
  mutable std::int64_t readings_ = 0;
};

TEST(Facts, TheTimeOfDayIsHeldAgainstTheMonotonicClock) {
  EXPECT_EQ(wall_less_monotonic_ms(Clock()), 1.795e12);
}

TEST(Facts, ASpeedThatADriverMakesUpIsNone) {
  const host::Network network{
      .nics = {
          {.name = "eth0", .kind = NicKind::Paravirtual, .carrier = true, .speed_mbps = 10'000},
          {.name = "veth0", .kind = NicKind::Veth, .carrier = true, .speed_mbps = 10'000},
          {.name = "br0",
           .kind = NicKind::Bridge,
           .carrier = true,
           .speed_mbps = 10'000,
           .lower = {"veth0", "eth0"}}}};
  for (const host::Nic& nic : network.nics) {
    EXPECT_EQ(real_speed_mbps(network, nic), std::nullopt) << nic.name;
  }
}

TEST(Facts, WhatStandsOnPortsIsAsFastAsThey) {
  const auto port = [](const char* name, bool carrier) {
    return host::Nic{
        .name = name, .kind = NicKind::Physical, .carrier = carrier, .speed_mbps = 25'000};
  };
  const host::Network network{
      .nics = {port("a", true),
               port("b", true),
               port("c", false),
               {.name = "bond0",
                .kind = NicKind::Bond,
                .carrier = true,
                .lower = {"a", "b", "c"},
                .bond = host::Bond{.mode = "balance-rr"}},
               {.name = "bond0.7", .kind = NicKind::Vlan, .carrier = true, .lower = {"bond0"}},
               {.name = "br0", .kind = NicKind::Bridge, .carrier = true, .lower = {"a", "b"}},
               {.name = "loop", .kind = NicKind::Vlan, .carrier = true, .lower = {"loop"}},
               {.name = "spare",
                .kind = NicKind::Bond,
                .carrier = true,
                .lower = {"a", "b"},
                .bond = host::Bond{.mode = "active-backup"}},
               {.name = "both",
                .kind = NicKind::Bond,
                .carrier = true,
                .lower = {"a", "b"},
                .bond = host::Bond{.mode = "802.3ad"}}}};
  EXPECT_EQ(real_speed_mbps(network, network.nics[0]), 25'000);
  EXPECT_EQ(real_speed_mbps(network, network.nics[3]), 50'000);
  EXPECT_EQ(real_speed_mbps(network, network.nics[4]), 50'000);
  EXPECT_EQ(real_speed_mbps(network, network.nics[5]), 25'000);
  EXPECT_EQ(real_speed_mbps(network, network.nics[6]), std::nullopt);
  EXPECT_EQ(real_speed_mbps(network, network.nics[7]), 25'000);
  EXPECT_EQ(real_speed_mbps(network, network.nics[8]), 25'000);
}

}  // namespace
}  // namespace chokepoint::preflight
