#include "probe/host/network_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/host/inventory.h"
#include "probe/host/checks.h"
#include "tests/fakes/host_tree.h"
#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using testing::HasSubstr;

TEST(NetworkChecks, ATunedHostHasNothingToComplainOf) {
  for (const Check& check : checked_fixture("clean-25g")) {
    EXPECT_LE(check.status, Status::Info) << check.id << " " << check.subject << " " << check.found;
  }
}

TEST(NetworkChecks, VirtualInterfacesRaiseNoAlarm) {
  for (const Check& check : checked_fixture("clean-25g")) {
    EXPECT_THAT(check.subject, testing::AnyOf("enp33s0np0", "host")) << check.id;
  }
}

TEST(NetworkChecks, EveryAlarmTellsWhatWasFoundWhyAndWhatToDo) {
  for (const char* fixture : {"e810-gen3-x8", "mgmt-1g-fabric-100g", "switch-x4", "fallback-100m",
                              "untuned-100g", "bond-and-rails", "irq-one-cpu"}) {
    for (const Check& check : checked_fixture(fixture)) {
      EXPECT_FALSE(check.why.empty()) << check.id;
      if (check.status >= Status::Warning) {
        EXPECT_FALSE(check.found.empty()) << fixture << " " << check.id;
        EXPECT_FALSE(check.wanted.empty()) << fixture << " " << check.id;
        EXPECT_FALSE(check.next_step.empty()) << fixture << " " << check.id;
      }
    }
  }
}

TEST(NetworkChecks, AContainerWithoutSysfsIsUnknownNotBad) {
  const Checks checks = checked_fixture("container-bare");
  EXPECT_EQ(find_check(checks, "nic.link", "eth0").status, Status::Unknown);
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(NetworkChecks, AHostThatShowsNothingIsUnknown) {
  const auto tree = fakes::HostTree::from_text("/sys/class/net/\n");
  Checks checks;
  check_network(host::read_network(tree.root()), {}, checks);
  EXPECT_EQ(find_check(checks, "nic.link", "host").status, Status::Unknown);
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(NetworkChecks, ACopyWithoutRecordedAnswersSaysWhatIsMissing) {
  const auto tree = fakes::HostTree::from_fixture("clean-25g");
  tree.remove("/chokepoint");
  Checks checks;
  check_network(host::read_network(tree.root()), {}, checks);
  const Check settings = find_check(checks, "nic.settings", "enp33s0np0");
  EXPECT_EQ(settings.status, Status::Unknown);
  EXPECT_THAT(settings.why, HasSubstr("ethtool.json"));
  EXPECT_EQ(find_check(checks, "host.interfaces").status, Status::Unknown);
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(NetworkChecks, TheLiveHostCanBeExamined) {
  EXPECT_FALSE(examine(host::read_inventory(sys::Root())).empty());
}

using testing::HasSubstr;

host::Nic port(const std::string& name, std::int64_t speed, const std::string& address) {
  host::Nic nic = sound_port(speed);
  nic.name = name;
  const net::Address parsed = *net::Address::parse(address);
  nic.settings.addresses = {{parsed, parsed.family() == net::Family::Ipv6 ? 64 : 24}};
  return nic;
}

Check interfaces_of(const host::Network& network, const JobDefaults& defaults = {}) {
  Checks checks;
  check_interfaces(network, defaults, checks);
  return checks.size() == 1 ? checks.front() : Check{.id = "not one check"};
}

TEST(InterfaceChecks, AJobThatWouldTakeTheSlowInterfaceIsToldTheFastOne) {
  const Check check = find_check(checked_fixture("mgmt-1g-fabric-100g"), "host.interfaces");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_THAT(check.found, HasSubstr("eno1 (1 Gb/s)"));
  EXPECT_THAT(check.wanted, HasSubstr("ens1f0np0 (100 Gb/s)"));
  EXPECT_EQ(check.next_step, "export GLOO_SOCKET_IFNAME=ens1f0np0 NCCL_SOCKET_IFNAME==ens1f0np0");
}

TEST(InterfaceChecks, TheDefaultBeingTheFastestPasses) {
  host::Network network{
      .nics = {port("eno1", 1'000, "192.0.2.1"), port("ens1", 100'000, "10.0.0.1")},
      .default_route = "ens1"};
  EXPECT_EQ(interfaces_of(network).status, Status::Pass);
  const net::Address name = *net::Address::parse("192.0.2.1");
  EXPECT_EQ(interfaces_of(network, {.own_addresses = {name}}).status, Status::Warning)
      << "the host's name goes before the route";
  EXPECT_EQ(interfaces_of(network, {.named_interface = "ens1", .own_addresses = {name}}).status,
            Status::Pass)
      << "what Gloo is told goes before the name";
  EXPECT_EQ(interfaces_of(network, {.named_interface = "eno1"}).status, Status::Warning);
  const net::Address loopback = *net::Address::parse("127.0.1.1");
  EXPECT_EQ(interfaces_of(network, {.own_addresses = {loopback}}).status, Status::Pass);
}

TEST(InterfaceChecks, NoObviousInterfaceIsALine) {
  const host::Network network{
      .nics = {port("eno1", 1'000, "192.0.2.1"), port("ens1", 100'000, "10.0.0.1")}};
  EXPECT_EQ(interfaces_of(network).status, Status::Info);
}

TEST(InterfaceChecks, OneInterfaceIsNoChoice) {
  EXPECT_EQ(interfaces_of({.nics = {port("eno1", 1'000, "192.0.2.1")}}).status, Status::Pass);
}

TEST(InterfaceChecks, AContainersVethIsItsInterface) {
  host::Nic veth = port("eth0", 10'000, "172.17.0.2");
  veth.kind = host::NicKind::Veth;
  const Check check = interfaces_of({.nics = {veth}});
  EXPECT_EQ(check.status, Status::Pass);
  EXPECT_THAT(check.found, HasSubstr("eth0"));
  host::Nic docker = port("docker0", 0, "172.18.0.1");
  docker.kind = host::NicKind::Bridge;
  const Check both = interfaces_of({.nics = {docker, port("eno1", 1'000, "192.0.2.1")}});
  EXPECT_THAT(both.found, HasSubstr("eno1"));
}

TEST(InterfaceChecks, ABridgeOverAPortIsAChoiceAContainerEnginesIsNot) {
  host::Nic bridge = port("br0", 10'000, "10.0.0.1");
  bridge.kind = host::NicKind::Bridge;
  bridge.lower = {"veth1"};
  host::Nic veth = sound_port(10'000);
  veth.name = "veth1";
  veth.kind = host::NicKind::Veth;
  host::Network network{.nics = {bridge, veth, port("eno1", 1'000, "192.0.2.1")},
                        .default_route = "eno1"};
  EXPECT_EQ(interfaces_of(network).status, Status::Pass);
  network.nics[1].kind = host::NicKind::Physical;
  EXPECT_EQ(interfaces_of(network).status, Status::Warning);
}

TEST(InterfaceChecks, TwoInterfacesOnOneSubnetAreAWarning) {
  const Check check = find_check(checked_fixture("bond-and-rails"), "host.subnets");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_THAT(check.found, HasSubstr("10.10.0.0/24 on eth2 eth3"));
  Checks checks;
  check_subnets({.nics = {port("a", 1'000, "2001:db8::1"), port("b", 1'000, "2001:db8::2")}},
                checks);
  ASSERT_EQ(checks.size(), 1);
  EXPECT_THAT(checks[0].found, HasSubstr("2001:db8::/64"));
}

TEST(InterfaceChecks, SubnetsApartAreNoFinding) {
  const host::Nic link_local = port("c", 1'000, "fe80::1");
  Checks checks;
  check_subnets({.nics = {port("a", 1'000, "10.0.0.1"), port("b", 1'000, "10.0.1.1"), link_local}},
                checks);
  EXPECT_TRUE(checks.empty());
}

TEST(InterfaceChecks, MtusThatDisagreeAreNamed) {
  const Checks checks = checked_fixture("bond-and-rails");
  const Check stacked = find_check(checks, "host.mtu-mismatch", "bond0");
  EXPECT_EQ(stacked.status, Status::Warning);
  EXPECT_EQ(stacked.next_step, "ip link set eth1 mtu 9000");
  EXPECT_EQ(find_check(checks, "host.mtu-mismatch", "eth2").next_step, "ip link set eth3 mtu 9000");
}

TEST(InterfaceChecks, AContainersSmallerMtuIsItsOwnAffair) {
  host::Nic bridge = port("docker0", 10'000, "172.17.0.1");
  bridge.kind = host::NicKind::Bridge;
  bridge.lower = {"veth1"};
  host::Nic veth = sound_port(10'000);
  veth.name = "veth1";
  veth.kind = host::NicKind::Veth;
  veth.mtu = 1450;
  Checks checks;
  check_mtu_mismatch({.nics = {bridge, veth}}, checks);
  EXPECT_TRUE(checks.empty());
}

TEST(InterfaceChecks, ManagementAndFabricMayDiffer) {
  host::Nic management = port("eno1", 1'000, "192.0.2.1");
  management.mtu = 1500;
  Checks checks;
  check_mtu_mismatch({.nics = {management, port("ens1", 100'000, "10.0.0.1")}}, checks);
  EXPECT_TRUE(checks.empty());
}

}  // namespace

}  // namespace chokepoint::probe
