#include "base/host/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

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
