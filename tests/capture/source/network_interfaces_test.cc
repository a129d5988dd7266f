#include "capture/source/network_interfaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::capture::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A host with each kind of interface that shows what another one shows, too.
constexpr const char* kBonded = R"(
/sys/class/net/lo/ifindex = 1
/sys/class/net/lo/flags = 0x9
/sys/class/net/eth0/ifindex = 2
/sys/class/net/eth0/flags = 0x1003
/sys/class/net/eth0/mtu = 9000
/sys/class/net/eth0/speed = 25000
/sys/class/net/eth0/upper_bond0/
/sys/class/net/eth1/ifindex = 3
/sys/class/net/eth1/flags = 0x1003
/sys/class/net/eth2/ifindex = 4
/sys/class/net/eth2/flags = 0x1002
/sys/class/net/eth2/speed = -1
/sys/class/net/bond0/ifindex = 5
/sys/class/net/bond0/flags = 0x1003
/sys/class/net/bond0/lower_eth0/
/sys/class/net/bond0/lower_eth1/
/sys/class/net/bond0/lower_eth2/
/sys/class/net/bond0.7/ifindex = 6
/sys/class/net/bond0.7/iflink = 5
/sys/class/net/bond0.7/flags = 0x1003
/sys/class/net/bond0.7/lower_bond0/
/sys/class/net/vxlan1/ifindex = 7
/sys/class/net/vxlan1/flags = 0x1003
/sys/class/net/vxlan1/uevent = DEVTYPE=vxlan
/sys/class/net/vxlan1/lower_bond0/
/sys/class/net/ifb0/ifindex = 8
/sys/class/net/ifb0/flags = 0x83
)";

constexpr const char* kBridged = R"(
/sys/class/net/br0/ifindex = 10
/sys/class/net/br0/flags = 0x1003
/sys/class/net/br0/bridge/
/sys/class/net/br0/lower_eth5/
/sys/class/net/br0/lower_veth1/
/sys/class/net/eth5/ifindex = 11
/sys/class/net/eth5/flags = 0x1003
/sys/class/net/veth1/ifindex = 12
/sys/class/net/veth1/iflink = 2
/sys/class/net/veth1/flags = 0x1003
/sys/class/net/docker0/ifindex = 13
/sys/class/net/docker0/flags = 0x1003
/sys/class/net/docker0/bridge/
/sys/class/net/docker0/lower_veth2/
/sys/class/net/veth2/ifindex = 14
/sys/class/net/veth2/iflink = 2
/sys/class/net/veth2/flags = 0x1003
)";

using Facts = std::vector<InterfaceFacts>;

const Facts& bonded() {
  static const Facts kFacts = read_interfaces(fakes::HostTree::from_text(kBonded).root());
  return kFacts;
}

const Facts& bridged() {
  static const Facts kFacts = read_interfaces(fakes::HostTree::from_text(kBridged).root());
  return kFacts;
}

InterfaceChoice choice(const Facts& host, const std::vector<std::string>& names) {
  auto chosen = choose_interfaces(host, names);
  EXPECT_TRUE(chosen) << describe(chosen.error());
  return chosen.value_or(InterfaceChoice{});
}

std::vector<std::string> chosen(const Facts& host, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const InterfaceFacts& facts : choice(host, names).interfaces) {
    all.push_back(facts.name);
  }
  return all;
}

TEST(InterfaceChoice, AnyIsAllThatAreUpButNoPacketTwice) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{}, {"any"}}) {
    EXPECT_THAT(chosen(bonded(), names), ElementsAre("eth0", "eth1", "lo", "vxlan1"));
  }
  EXPECT_THAT(
      choice(bonded(), {}).remarks,
      UnorderedElementsAre("ifb0 is left out: it repeats what other interfaces saw",
                           "bond0 is left out: its packets are seen on what it stands on",
                           "bond0.7 is left out: its packets are seen on what it stands on"));
}

TEST(InterfaceChoice, ABondIsKeptWhereNotAllItsSlavesAreListenedOn) {
  EXPECT_THAT(chosen(bonded(), {"bond0", "eth0"}), ElementsAre("bond0"));
  EXPECT_THAT(chosen(bonded(), {"bond0", "eth0", "eth1"}), ElementsAre("eth0", "eth1"));
  EXPECT_THAT(chosen(bonded(), {"bond0"}), ElementsAre("bond0"));
  EXPECT_THAT(chosen(bonded(), {"eth0"}), ElementsAre("eth0"));
}

TEST(InterfaceChoice, AVlanIsSeenOnWhatItStandsOn) {
  EXPECT_THAT(chosen(bonded(), {"bond0.7", "bond0"}), ElementsAre("bond0"));
  EXPECT_THAT(chosen(bonded(), {"bond0.7"}), ElementsAre("bond0.7"));
  EXPECT_THAT(chosen(bonded(), {"bond0.7", "eth0", "eth1"}), ElementsAre("eth0", "eth1"));
}

TEST(InterfaceChoice, OfABridgeThePortsThatLeadOutAreKeptOrItself) {
  EXPECT_THAT(chosen(bridged(), {}), ElementsAre("docker0", "eth5"));
  EXPECT_THAT(chosen(bridged(), {"br0", "veth1"}), ElementsAre("br0"));
  EXPECT_THAT(chosen(bridged(), {"veth1"}), ElementsAre("veth1"));
}

TEST(InterfaceChoice, WhatIsNotThereIsAnError) {
  const auto chosen = choose_interfaces(bridged(), {"eth5", "wlan0"});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(describe(chosen.error()),
            "listen: wlan0: no such interface; there are br0, docker0, eth5, veth1, veth2");
}

TEST(InterfaceFacts, AreReadFromSys) {
  const Facts& all = bonded();
  const auto eth0 = std::ranges::find(all, "eth0", &InterfaceFacts::name);
  ASSERT_NE(eth0, all.end());
  EXPECT_TRUE(eth0->up);
  EXPECT_EQ(eth0->mtu, 9000u);
  EXPECT_EQ(eth0->speed_mbps, 25000);
  EXPECT_THAT(eth0->stands_on, IsEmpty());
  const auto eth2 = std::ranges::find(all, "eth2", &InterfaceFacts::name);
  EXPECT_FALSE(eth2->up);
  EXPECT_EQ(eth2->speed_mbps, std::nullopt);
}

TEST(RingSize, HoldsATenthOfASecondInWholeBlocksWithinBounds) {
  const InterfaceFacts slow{.mtu = 1500, .speed_mbps = 1000};
  const InterfaceFacts fast{.mtu = 1500, .speed_mbps = 10'000};
  const InterfaceFacts fastest{.mtu = 1500, .speed_mbps = 400'000};
  EXPECT_EQ(ring_size(slow, 128), kMinRingBytes);
  const std::uint64_t packets = 2 * 10'000'000'000 / 8 / 10 / 1538;
  EXPECT_GE(ring_size(fast, 128), packets * 128);
  EXPECT_LE(ring_size(fast, 128), packets * 256 + kRingBlockBytes);
  EXPECT_EQ(ring_size(fast, 128) % kRingBlockBytes, 0u);
  EXPECT_EQ(ring_size(fastest, 128), kMaxRingBytes);
  EXPECT_EQ(ring_size({}, 128), ring_size(fast, 128)) << "unknown is taken for 10 Gb/s";
}

}  // namespace
}  // namespace chokepoint::capture::source
