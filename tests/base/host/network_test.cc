#include "base/host/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

Network read(const std::string& fixture) {
  return read_network(fakes::HostTree::from_fixture(fixture).root());
}

std::string value_of(const Facts& facts, std::string_view subject, std::string_view key) {
  for (const Fact& fact : facts) {
    if (fact.subject == subject && fact.key == key) {
      return fact.value;
    }
  }
  return "(none)";
}

TEST(Network, ReadsInterfacesAndRoutes) {
  const Network network = read("mgmt-1g-fabric-100g");
  EXPECT_EQ(network.nics.size(), 3);
  EXPECT_EQ(network.default_route, "eno1");
  EXPECT_EQ(network.cpus, 16);
  EXPECT_EQ(network.numa_nodes, 1);
  EXPECT_EQ(find(network, "eth9"), nullptr);
}

TEST(Network, TheBondingDriversFileIsNoInterface) {
  EXPECT_EQ(find(read("bond-and-rails"), "bonding_masters"), nullptr);
}

TEST(Network, WithoutSysfsTheNamesComeFromProcfs) {
  const Network network = read("container-bare");
  ASSERT_NE(find(network, "eth0"), nullptr);
  EXPECT_EQ(find(network, "eth0")->kind, NicKind::Unknown);
  EXPECT_EQ(find(network, "lo")->kind, NicKind::Loopback);
}

TEST(Network, AStackedInterfaceIsAsFastAsWhatItStandsOn) {
  Network network;
  network.nics = {{.name = "a", .carrier = true, .speed_mbps = 25'000},
                  {.name = "b", .carrier = true, .speed_mbps = 25'000},
                  {.name = "c", .carrier = false, .speed_mbps = 25'000},
                  {.name = "br0", .carrier = true, .lower = {"a", "b", "c", "gone"}}};
  EXPECT_EQ(speed_mbps(network, network.nics[3]), 50'000);
  EXPECT_EQ(speed_mbps(network, {.name = "x", .lower = {}}), std::nullopt);
}

TEST(Network, TheDefaultRouteOfLeastMetricIsPreferred) {
  constexpr const char* kIpv4 =
      "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
      "eth1 00000000 0101000A 0003 0 0 200 00000000 0 0 0\n"
      "eth0 00000000 0102000A 0003 0 0 100 00000000 0 0 0\n"
      "eth2 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";
  constexpr const char* kIpv6 =
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth3\n"
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n";
  EXPECT_EQ(default_route_in(kIpv4, kIpv6), "eth0");
  EXPECT_EQ(default_route_in("", kIpv6), "eth3");
  EXPECT_EQ(default_route_in("", ""), std::nullopt);
}

TEST(Network, FactsTellTheirSourceAndEachIsToldOnce) {
  Facts facts;
  append_facts(read("e810-gen3-x8"), facts);
  EXPECT_EQ(value_of(facts, "enp3s0np0", "speed_mbps"), "100000");
  EXPECT_EQ(value_of(facts, "enp3s0np0", "ring_rx_max"), "8160");
  EXPECT_EQ(value_of(facts, "enp3s0np0", "irq_120_cpus"), "0");
  EXPECT_EQ(value_of(facts, "0000:03:00.0", "width"), "8");
  EXPECT_EQ(value_of(facts, "0000:03:00.0", "path"), "0000:00:02.0 0000:03:00.0");
  EXPECT_EQ(value_of(facts, "0000:00:02.0", "max_width"), "8");
  EXPECT_EQ(value_of(facts, "0000:03:00.0", "payload_bytes"), "(none)");
  std::set<std::string> told;
  for (const Fact& fact : facts) {
    EXPECT_FALSE(fact.source.empty()) << fact.key;
    if (!fact.key.starts_with("address_")) {
      EXPECT_TRUE(told.insert(fact.category + fact.subject + " " + fact.key).second)
          << fact.subject << " " << fact.key;
    }
  }
}

TEST(Network, TheLiveHostCanBeRead) {
  const Network network = read_network(sys::Root());
  Facts facts;
  append_facts(network, facts);
  EXPECT_FALSE(network.query_problem);
}

TEST(Links, TheFastestPhysicalOneCounts) {
  const auto tree = fakes::HostTree::from_text(R"(
/sys/class/net/eth0/type = 1
/sys/class/net/eth0/device/vendor = 0x8086
/sys/class/net/eth0/speed = 1000
/sys/class/net/eth0/mtu = 1500
/sys/class/net/eth1/type = 1
/sys/class/net/eth1/device/vendor = 0x15b3
/sys/class/net/eth1/speed = 25000
/sys/class/net/eth1/mtu = 9000
/sys/class/net/veth0/type = 1
/sys/class/net/veth0/speed = 10000000
/sys/class/net/lo/mtu = 65536
)");
  const Links links = links_of(read_network(tree.root()));
  EXPECT_EQ(links.fastest_mbps, 25'000);
  EXPECT_EQ(links.largest_mtu_bytes, 9000);
}

TEST(Links, ALinkThatIsDownTellsNoSpeed) {
  const auto tree = fakes::HostTree::from_text(
      "/sys/class/net/eth0/type = 1\n/sys/class/net/eth0/device/vendor = 0x8086\n"
      "/sys/class/net/eth0/speed = -1\n");
  EXPECT_EQ(links_of(read_network(tree.root())).fastest_mbps, std::nullopt);
}

std::vector<std::string> texts_of(const Addresses& addresses) {
  std::vector<std::string> texts;
  for (const InterfaceAddress& one : *addresses.addresses) {
    texts.push_back(one.interface + " " + one.address.text());
  }
  return texts;
}

TEST(Addresses, ACopyTellsBothFamilies) {
  const Addresses addresses =
      read_addresses(fakes::HostTree::from_fixture("dual-stack-loopback-name").root());
  EXPECT_THAT(texts_of(addresses),
              testing::ElementsAre(" 127.0.0.1", " 198.51.100.7", "lo ::1", "eth0 2001:db8::7",
                                   "eth0 fe80::211:22ff:fe33:4455"));
  EXPECT_TRUE(is_reachable(addresses, net::Family::Ipv4));
  EXPECT_TRUE(is_reachable(addresses, net::Family::Ipv6));
  EXPECT_THAT(addresses.interfaces, testing::ElementsAre("eth0", "lo"));
}

TEST(Addresses, ARouteThatRejectsIsNoDefaultRoute) {
  const Addresses addresses =
      read_addresses(fakes::HostTree::from_fixture("dual-stack-loopback-name").root());
  ASSERT_EQ(addresses.default_routes->size(), 2);
  EXPECT_EQ(addresses.default_routes->at(0).interface, "eth0");
  EXPECT_EQ(addresses.default_routes->at(1).interface, "eth0");
  EXPECT_TRUE(has_default_route(addresses, net::Family::Ipv6));
}

TEST(Addresses, LoopbackAndLinkLocalReachNobody) {
  const auto tree = fakes::HostTree::from_text(
      "/proc/net/if_inet6 <<END\n"
      "00000000000000000000000000000001 01 80 10 80       lo\n"
      "fe80000000000000021122fffe334455 02 40 20 80     eth0\n"
      "END\n");
  EXPECT_FALSE(is_reachable(read_addresses(tree.root()), net::Family::Ipv6));
}

TEST(Addresses, WhatIsNotThereIsNotKnown) {
  const Addresses addresses = read_addresses(fakes::HostTree::from_text("").root());
  EXPECT_FALSE(addresses.addresses);
  EXPECT_FALSE(addresses.default_routes);
}

TEST(Addresses, ARouteTableWithoutADefaultHasNone) {
  const auto tree = fakes::HostTree::from_text(
      "/proc/net/route = eth0\t006433C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
  const Addresses addresses = read_addresses(tree.root());
  ASSERT_TRUE(addresses.default_routes);
  EXPECT_TRUE(addresses.default_routes->empty());
}

TEST(Addresses, TheRunningHostTellsItsOwn) { EXPECT_TRUE(read_addresses(sys::Root()).addresses); }

}  // namespace
}  // namespace chokepoint::host
