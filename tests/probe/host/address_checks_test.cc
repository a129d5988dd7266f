#include "probe/host/address_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

using testing::HasSubstr;

Checks ip_of(const host::Addresses& addresses, std::map<std::string, std::string> sysctls) {
  Checks checks;
  check_ip(addresses, host::Sysctls(std::move(sysctls)), checks);
  EXPECT_EQ(checks.size(), 3);
  return checks;
}

TEST(Ip, AHostWithBothFamiliesPasses) {
  const auto tree = fakes::HostTree::from_fixture("dual-stack-loopback-name");
  Checks checks;
  check_ip(host::read_addresses(tree.root()), host::read_sysctls(tree.root()), checks);
  EXPECT_EQ(worst(checks), Status::Pass);
  EXPECT_EQ(checks[0].id, "ip.default-route");
  EXPECT_EQ(checks[0].found, "ipv4 by eth0, ipv6 by eth0");
}

TEST(Ip, NoDefaultRouteIsInfoAndNotReadIsUnknown) {
  host::Addresses closed;
  closed.default_routes.emplace();
  EXPECT_EQ(ip_of(closed, {})[0].status, Status::Info);
  EXPECT_EQ(ip_of({}, {})[0].status, Status::Unknown);
}

TEST(Ip, ForwardingIsTold) {
  EXPECT_EQ(ip_of({}, {{"net.ipv4.ip_forward", "0"}})[1].status, Status::Pass);
  EXPECT_EQ(ip_of({}, {{"net.ipv4.ip_forward", "1"}})[1].status, Status::Info);
  const Check six = ip_of({}, {{"net.ipv6.conf.all.forwarding", "1"}})[1];
  EXPECT_EQ(six.status, Status::Info);
  EXPECT_THAT(six.why, HasSubstr("accept_ra"));
  EXPECT_EQ(ip_of({}, {})[1].status, Status::Unknown);
}

TEST(Ip, Ipv6ThatIsOffOrReachesNobodyIsInfo) {
  const auto six = [](const char* disabled) {
    return ip_of({},
                 {{"net.ipv4.ip_forward", "0"}, {"net.ipv6.conf.all.disable_ipv6", disabled}})[2];
  };
  EXPECT_EQ(six("1").found, "off");
  EXPECT_EQ(six("1").status, Status::Info);
  EXPECT_EQ(six("0").status, Status::Info);
  EXPECT_EQ(ip_of({}, {{"net.ipv4.ip_forward", "0"}})[2].found, "off") << "no IPv6 in the kernel";
  EXPECT_EQ(ip_of({}, {})[2].status, Status::Unknown);
}

Check chosen(const std::string& name, const std::string& value) {
  host::Addresses addresses;
  addresses.interfaces = {"docker0", "eth0", "eth1", "lo"};
  host::Process process;
  process.environment = std::map<std::string, std::string>{{name, value}};
  Checks checks;
  check_interface_choice(addresses, {}, process, checks);
  return checks.at(0);
}

TEST(InterfaceChoice, GlooTakesExactNames) {
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "eth0,eth1").status, Status::Pass);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "eth").status, Status::Critical);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "^docker0").status, Status::Critical);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "=eth0").status, Status::Critical);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "lo").status, Status::Critical);
}

TEST(InterfaceChoice, TorchRpcTakesOneExactName) {
  EXPECT_EQ(chosen("TP_SOCKET_IFNAME", "eth0").status, Status::Pass);
  EXPECT_EQ(chosen("TP_SOCKET_IFNAME", "eth0,eth1").status, Status::Critical);
  EXPECT_THAT(chosen("TP_SOCKET_IFNAME", "eth9").why, HasSubstr("127.0.0.1"));
  EXPECT_EQ(chosen("TP_SOCKET_IFNAME", "lo").status, Status::Critical);
}

TEST(InterfaceChoice, NcclTakesPrefixes) {
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "=eth0").status, Status::Pass);
  const Check prefix = chosen("NCCL_SOCKET_IFNAME", "eth");
  EXPECT_EQ(prefix.status, Status::Info);
  EXPECT_EQ(prefix.found, "eth: eth0, eth1");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "^docker,lo").found, "^docker,lo: eth0, eth1");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "ib").status, Status::Critical);
}

TEST(InterfaceChoice, IsJudgedOnlyWhereMade) {
  Checks checks;
  check_interface_choice({}, {}, {}, checks);
  EXPECT_TRUE(checks.empty());
}

using testing::HasSubstr;

net::Address address(const char* text) { return *net::Address::parse(text); }

host::Addresses on_eth0(std::initializer_list<const char*> texts,
                        const std::vector<net::Family>& routes = {net::Family::Ipv4}) {
  host::Addresses addresses;
  addresses.addresses.emplace();
  addresses.default_routes.emplace();
  addresses.interfaces = {"eth0", "lo"};
  for (const char* text : texts) {
    addresses.addresses->push_back({"eth0", address(text)});
  }
  for (const net::Family family : routes) {
    addresses.default_routes->push_back({"eth0", family});
  }
  return addresses;
}

host::OwnName leading_to(std::initializer_list<const char*> texts) {
  host::OwnName own;
  own.name = "node1";
  own.addresses.emplace();
  for (const char* text : texts) {
    own.addresses->push_back(address(text));
  }
  return own;
}

Checks checked(const host::OwnName& own, const host::Addresses& addresses,
               const host::Process& process = {}) {
  Checks checks;
  check_names(own, addresses, process, checks);
  EXPECT_EQ(checks.at(0).id, "names.own");
  EXPECT_EQ(checks.at(1).id, "names.families");
  return checks;
}

TEST(OwnNameCheck, AnAddressOfAnInterfacePasses) {
  const Checks checks = checked(leading_to({"198.51.100.7"}), on_eth0({"198.51.100.7"}));
  EXPECT_EQ(checks[0].status, Status::Pass);
  EXPECT_EQ(checks[1].status, Status::Pass);
}

TEST(OwnNameCheck, DebiansLoopbackEntryIsCritical) {
  const auto tree = fakes::HostTree::from_fixture("dual-stack-loopback-name");
  const Checks checks =
      checked(host::read_own_name(tree.root()), host::read_addresses(tree.root()));
  EXPECT_EQ(checks[0].status, Status::Critical);
  EXPECT_EQ(checks[0].subject, "node1");
  EXPECT_EQ(checks[0].found, "127.0.1.1");
  EXPECT_THAT(checks[0].next_step, HasSubstr("GLOO_SOCKET_IFNAME=eth0"));
  EXPECT_THAT(checks[0].next_step, HasSubstr("/etc/hosts"));
}

TEST(OwnNameCheck, TheFirstAddressThatIsTheHostsIsBound) {
  const host::Addresses addresses = on_eth0({"198.51.100.7"});
  EXPECT_EQ(address_gloo_binds(leading_to({"203.0.113.9", "198.51.100.7"}), addresses),
            address("198.51.100.7"));
  EXPECT_EQ(checked(leading_to({"203.0.113.9", "198.51.100.7"}), addresses)[0].status,
            Status::Pass);
  EXPECT_EQ(checked(leading_to({"127.0.1.1", "198.51.100.7"}), addresses)[0].status,
            Status::Critical);
}

TEST(OwnNameCheck, ANameOfNobodyIsCritical) {
  EXPECT_EQ(checked(leading_to({}), on_eth0({"198.51.100.7"}))[0].status, Status::Critical);
  EXPECT_EQ(checked(leading_to({"203.0.113.9"}), on_eth0({"198.51.100.7"}))[0].status,
            Status::Critical);
}

TEST(OwnNameCheck, LinkLocalIsAWarning) {
  EXPECT_EQ(checked(leading_to({"169.254.3.4"}), on_eth0({"169.254.3.4"}))[0].status,
            Status::Warning);
}

TEST(OwnNameCheck, AnInterfaceNamedToGlooOverrulesTheName) {
  host::Process process;
  process.environment = std::map<std::string, std::string>{{"GLOO_SOCKET_IFNAME", "eth0"}};
  EXPECT_EQ(checked(leading_to({"127.0.1.1"}), on_eth0({"198.51.100.7"}), process)[0].status,
            Status::Info);
}

// The check of MASTER_ADDR, on a host of both families whose name leads to `name`.
std::optional<Check> meeting(std::map<std::string, std::string> environment,
                             std::initializer_list<const char*> name) {
  host::Process process;
  process.environment = std::move(environment);
  const Checks checks =
      checked(leading_to(name), on_eth0({"198.51.100.7", "2001:db8::7"}), process);
  return checks.size() > 2 ? std::optional(checks[2]) : std::nullopt;
}

TEST(MeetingFamily, IsThatOfWhatTheLibrariesOffer) {
  const auto same = meeting({{"MASTER_ADDR", "2001:db8::1"}}, {"2001:db8::7", "198.51.100.7"});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->id, "names.meeting-family");
  EXPECT_EQ(same->status, Status::Pass);
  EXPECT_EQ(meeting({{"MASTER_ADDR", "198.51.100.1"}}, {"198.51.100.7"})->status, Status::Pass);
}

TEST(MeetingFamily, IsAnotherWhereTheNameLeadsToIpv4) {
  const auto found = meeting({{"MASTER_ADDR", "2001:db8::1"}}, {"198.51.100.7", "2001:db8::7"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, Status::Warning);
  EXPECT_THAT(found->found, HasSubstr("torch RPC offers 198.51.100.7, by the name node1"));
  EXPECT_THAT(found->found, HasSubstr("Gloo offers 198.51.100.7"));
}

// Measured with PyTorch 1.13: lab case training, "an interface named to rpc is taken by its IPv4".
TEST(MeetingFamily, IsAnotherWhereAnInterfaceIsNamed) {
  const auto found =
      meeting({{"MASTER_ADDR", "2001:db8::1"}, {"TP_SOCKET_IFNAME", "eth0"}}, {"2001:db8::7"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, Status::Warning);
  EXPECT_THAT(found->found, HasSubstr("torch RPC offers 198.51.100.7, by TP_SOCKET_IFNAME=eth0"));
  EXPECT_THAT(found->found, testing::Not(HasSubstr("Gloo")));
}

TEST(MeetingFamily, IsNotKnownOfANameOrWithoutOne) {
  EXPECT_FALSE(meeting({{"MASTER_ADDR", "voyager"}}, {"198.51.100.7"}));
  EXPECT_FALSE(meeting({}, {"198.51.100.7"}));
}

TEST(OwnNameCheck, ADeadNameServerIsUnknown) {
  host::OwnName own;
  own.name = "node1";
  own.error = Error{ErrorKind::Timeout, "resolve", "node1", 0, "no answer", {}};
  const Checks checks = checked(own, on_eth0({"198.51.100.7"}));
  EXPECT_EQ(checks[0].status, Status::Unknown);
  EXPECT_THAT(checks[0].why, HasSubstr("no answer"));
  EXPECT_EQ(checks[1].status, Status::Unknown);
}

TEST(Families, ANameThatLeadsToAFamilyTheHostHasNotIsAWarning) {
  const Checks checks =
      checked(leading_to({"198.51.100.7", "2001:db8::7"}), on_eth0({"198.51.100.7", "fe80::1"}));
  EXPECT_EQ(checks[1].status, Status::Warning);
  EXPECT_THAT(checks[1].why, HasSubstr("IPv6"));
}

TEST(Families, ANameWithoutTheFamilyOfTheDefaultRouteIsAWarning) {
  const Checks checks = checked(leading_to({"198.51.100.7"}),
                                on_eth0({"198.51.100.7", "2001:db8::7"}, {net::Family::Ipv6}));
  EXPECT_EQ(checks[1].status, Status::Warning);
  EXPECT_THAT(checks[1].next_step, HasSubstr("IPv6"));
}

TEST(Families, DualStackIsToldWithTheWayOut) {
  const Checks checks =
      checked(leading_to({"198.51.100.7", "2001:db8::7"}),
              on_eth0({"198.51.100.7", "2001:db8::7"}, {net::Family::Ipv4, net::Family::Ipv6}));
  EXPECT_EQ(checks[1].status, Status::Info);
  EXPECT_THAT(checks[1].next_step, HasSubstr("for IPv6 name no interface"));
  EXPECT_THAT(checks[1].next_step, HasSubstr("GLOO_SOCKET_IFNAME=eth0"));
}

TEST(Families, AHostThatNobodyReachesIsAWarning) {
  EXPECT_EQ(checked(leading_to({"127.0.1.1"}), on_eth0({"fe80::1"}))[1].status, Status::Warning);
}

TEST(BestInterface, HasTheDefaultRouteElseAReachableAddress) {
  host::Addresses addresses = on_eth0({"fe80::1"}, {});
  EXPECT_EQ(best_interface(addresses), std::nullopt);
  addresses.addresses->push_back({"ib0", address("198.51.100.7")});
  EXPECT_EQ(best_interface(addresses), "ib0");
  addresses.default_routes->push_back({"eth1", net::Family::Ipv4});
  EXPECT_EQ(best_interface(addresses), "eth1");
}

}  // namespace

}  // namespace chokepoint::probe
