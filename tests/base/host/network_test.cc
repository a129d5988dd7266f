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

}  // namespace
}  // namespace chokepoint::host
