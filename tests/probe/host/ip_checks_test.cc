#include "probe/host/ip_checks.h"

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
  check_interface_choice(addresses, process, checks);
  return checks.at(0);
}

TEST(InterfaceChoice, GlooTakesExactNames) {
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "eth0,eth1").status, Status::Pass);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "eth").status, Status::Critical);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "^docker0").status, Status::Critical);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "=eth0").status, Status::Critical);
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "lo").status, Status::Critical);
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
  check_interface_choice({}, {}, checks);
  EXPECT_TRUE(checks.empty());
}

}  // namespace
}  // namespace chokepoint::probe
