#include "preflight/coordinator/agent_addresses.h"

#include <gtest/gtest.h>

namespace chokepoint::preflight::coordinator {
namespace {

using Texts = std::vector<std::string>;

InterfaceFacts interface(const char* name, Texts addresses, Texts networks) {
  return {.name = name,
          .addresses = std::move(addresses),
          .networks = std::move(networks),
          .is_up = true};
}

InterfaceFacts loopback() {
  return interface("lo", {"127.0.0.1", "::1"}, {"127.0.0.0/8", "::1/128"});
}

HostResult host(const char* reached, std::vector<InterfaceFacts> interfaces) {
  interfaces.push_back(loopback());
  return {.address = reached, .facts = HostFacts{.interfaces = std::move(interfaces)}};
}

HostResult plain(const char* reached) {
  return host(reached, {interface("eth0", {reached}, {"10.0.0.0/24"})});
}

TEST(TestAddresses, where_the_coordinator_reached_them) {
  EXPECT_EQ(test_addresses({plain("10.0.0.1"), plain("10.0.0.2")}),
            (Texts{"10.0.0.1", "10.0.0.2"}));
}

// The coordinator runs on one of the hosts, whose name leads to loopback there.
TEST(TestAddresses, loopback_is_for_nobody_else) {
  const HostResult own =
      host("127.0.1.1", {interface("mgmt", {"192.0.2.7"}, {"192.0.2.0/24"}),
                         interface("eth0", {"fd00::1", "10.0.0.9"}, {"fd00::/64", "10.0.0.0/24"})});
  EXPECT_EQ(test_addresses({own, plain("10.0.0.1"), plain("10.0.0.2")})[0], "10.0.0.9");
}

TEST(TestAddresses, an_address_that_is_not_the_hosts_own) {
  const HostResult forwarded =
      host("198.51.100.1", {interface("eth0", {"10.0.0.3"}, {"10.0.0.0/24"})});
  EXPECT_EQ(test_addresses({plain("10.0.0.1"), forwarded})[1], "10.0.0.3");
}

TEST(TestAddresses, where_all_are_on_one_machine_loopback_is_all_right) {
  EXPECT_EQ(test_addresses({host("127.0.0.2", {}), host("127.0.0.3", {})}),
            (Texts{"127.0.0.2", "127.0.0.3"}));
}

TEST(TestAddresses, nothing_better_is_known) {
  const HostResult far = host("127.0.0.1", {interface("eth0", {"172.16.0.1"}, {"172.16.0.0/16"})});
  EXPECT_EQ(test_addresses({far, plain("10.0.0.1")})[0], "127.0.0.1");
}

TEST(TestAddresses, facts_that_make_no_sense) {
  const HostResult liar =
      host("127.0.0.1", {interface("eth0", {"10.0.0.3", "x", "10.0.0.5"},
                                   {"10.0.0.0/99", "10.0.0.0/24", "10.0.0.0"})});
  EXPECT_EQ(test_addresses({liar, plain("10.0.0.1")})[0], "x");
  HostResult absent{.address = ""};
  EXPECT_EQ(test_addresses({absent})[0], "");
}

HostResult dual(const char* reached, const char* other, const char* network) {
  return host(reached, {interface("eth0", {reached, "fe80::1%eth0", other},
                                  {"10.0.0.0/24", "fe80::/64", network})});
}

TEST(OtherFamily, over_the_interface_of_the_tests) {
  EXPECT_EQ(other_family_address(dual("10.0.0.1", "fd00::1", "fd00::/64"),
                                 dual("10.0.0.2", "fd00::2", "fd00::/64")),
            "fd00::2");
}

TEST(OtherFamily, not_where_they_share_no_network) {
  const HostResult one = dual("10.0.0.1", "fd00::1", "fd00::/64");
  EXPECT_EQ(other_family_address(one, dual("10.0.0.2", "fd01::2", "fd01::/64")), std::nullopt);
  EXPECT_EQ(other_family_address(one, plain("10.0.0.2")), std::nullopt);
  EXPECT_EQ(other_family_address(one, {.address = "10.0.0.2"}), std::nullopt);
}

// As docker's bridge is: the same network on each host, and a different one.
TEST(OtherFamily, not_over_another_interface) {
  const auto bridged = [](const char* reached) {
    return host(reached, {interface("docker0", {"fd00::1"}, {"fd00::/64"}),
                          interface("eth0", {reached}, {"10.0.0.0/24"})});
  };
  EXPECT_EQ(other_family_address(bridged("10.0.0.1"), bridged("10.0.0.2")), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::preflight::coordinator
