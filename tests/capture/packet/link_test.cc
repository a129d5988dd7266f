#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;
using fakes::operator+;

void expect_tcp(const Packet& packet, std::uint32_t link_bytes) {
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.ends.destination_port, 5'201);
  EXPECT_EQ(packet.payload_bytes, 10);
  EXPECT_EQ(packet.header_bytes, link_bytes + (packet.ends.is_ipv6 ? 60 : 40));
}

TEST(Link, TheOutermostVlanIsTold) {
  const Bytes one = FrameBuilder().ethernet().vlan({.id = 77}).ipv4().tcp().payload(10).build();
  expect_tcp(decoded(one), 18);
  EXPECT_EQ(decoded(one).vlan, 77);
  for (const std::uint16_t tag_type : std::vector<std::uint16_t>{0x88a8, 0x9100, 0x8100}) {
    const Bytes two = FrameBuilder()
                          .ethernet()
                          .vlan({.id = 4'094, .tag_type = tag_type})
                          .vlan({.id = 5})
                          .ipv6()
                          .tcp()
                          .payload(10)
                          .build();
    expect_tcp(decoded(two), 22);
    EXPECT_EQ(decoded(two).vlan, 4'094);
  }
}

TEST(Link, APrioritysBitsAreNotTheVlans) {
  Bytes frame = FrameBuilder().ethernet().vlan({.id = 5}).ipv4().tcp().payload(10).build();
  frame[14] |= 0xf0;
  EXPECT_EQ(decoded(frame).vlan, 5);
}

TEST(Link, TagsWithoutEndAreNotFollowed) {
  FrameBuilder builder;
  builder.ethernet();
  for (int i = 0; i < 1'000; ++i) {
    builder.vlan();
  }
  EXPECT_EQ(decoded(builder.ipv4().tcp().build()).kind, Kind::NotIp);
}

TEST(Link, LabelsOfMplsAreSkipped) {
  const auto builder = [] { return FrameBuilder().ethernet().mpls(100, false).mpls(200); };
  expect_tcp(decoded(builder().ipv4().tcp().payload(10).build()), 22);
  expect_tcp(decoded(builder().ipv6().tcp().payload(10).build()), 22);
  EXPECT_EQ(decoded(builder().bytes(Bytes(60)).build()).kind, Kind::NotIp);
}

TEST(Link, BothCookedHeadersAreSkippedAndCountAsEthernets) {
  const Bytes first = FrameBuilder().linux_cooked().ipv4().tcp().payload(10).build();
  expect_tcp(decoded(fakes::whole(first, LinkType::LinuxCooked)), 14);
  EXPECT_EQ(decoded(fakes::whole(first, LinkType::LinuxCooked)).frame_bytes, first.size() - 2);
  const Bytes second = FrameBuilder().linux_cooked2().ipv6().tcp().payload(10).build();
  expect_tcp(decoded(fakes::whole(second, LinkType::LinuxCooked2)), 14);
  EXPECT_EQ(decoded(fakes::whole(second, LinkType::LinuxCooked2)).frame_bytes, second.size() - 6);
}

TEST(Link, ACookedHeaderMayCarryATag) {
  const Bytes frame =
      FrameBuilder().linux_cooked().vlan({.id = 3}).ipv4().tcp().payload(10).build();
  const Packet packet = decoded(fakes::whole(frame, LinkType::LinuxCooked));
  expect_tcp(packet, 18);
  EXPECT_EQ(packet.vlan, 3);
}

TEST(Link, LoopbackIsReadInEitherByteOrder) {
  const auto ipv4 = [](const Bytes& family) {
    return FrameBuilder().bytes(family).ipv4().tcp().payload(10).build();
  };
  const auto ipv6 = [](const Bytes& family) {
    return FrameBuilder().bytes(family).ipv6().tcp().payload(10).build();
  };
  expect_tcp(decoded(fakes::whole(ipv4({2, 0, 0, 0}), LinkType::Null)), 4);
  expect_tcp(decoded(fakes::whole(ipv4({0, 0, 0, 2}), LinkType::Null)), 4);
  expect_tcp(decoded(fakes::whole(ipv4({0, 0, 0, 2}), LinkType::Loop)), 4);
  for (const std::uint8_t family : Bytes{10, 24, 28, 30}) {
    expect_tcp(decoded(fakes::whole(ipv6({family, 0, 0, 0}), LinkType::Null)), 4);
    expect_tcp(decoded(fakes::whole(ipv6({0, 0, 0, family}), LinkType::Loop)), 4);
  }
  EXPECT_EQ(decoded(fakes::whole(ipv4({7, 0, 0, 0}), LinkType::Null)).kind, Kind::NotIp);
}

TEST(Link, RawIpIsToldByItsVersion) {
  const Bytes ipv4 = FrameBuilder().ipv4().tcp().payload(10).build();
  const Bytes ipv6 = FrameBuilder().ipv6().tcp().payload(10).build();
  expect_tcp(decoded(fakes::whole(ipv4, LinkType::Raw)), 0);
  expect_tcp(decoded(fakes::whole(ipv6, LinkType::Raw)), 0);
  expect_tcp(decoded(fakes::whole(ipv4, LinkType::Ipv4)), 0);
  expect_tcp(decoded(fakes::whole(ipv6, LinkType::Ipv6)), 0);
  EXPECT_EQ(decoded(fakes::whole(ipv4, LinkType::Ipv6)).kind, Kind::Malformed);
  EXPECT_EQ(decoded(fakes::whole(Bytes(40), LinkType::Raw)).kind, Kind::NotIp);
}

TEST(Link, WhatIsNoIpIsSaidToBeNone) {
  EXPECT_EQ(decoded(FrameBuilder().ethernet({.type = 0x0806}).bytes(Bytes(46)).build()).kind,
            Kind::NotIp);
  EXPECT_EQ(decoded(fakes::whole(Bytes(60), static_cast<LinkType>(9'999))).kind, Kind::NotIp);
}

TEST(Link, AFrameWithoutBytesIsMalformed) {
  for (const LinkType link :
       {LinkType::Ethernet, LinkType::Null, LinkType::Raw, LinkType::Loop, LinkType::LinuxCooked,
        LinkType::LinuxCooked2, LinkType::Ipv4, LinkType::Ipv6}) {
    EXPECT_EQ(decoded(fakes::whole({}, link)).kind, Kind::Malformed);
  }
}

}  // namespace
}  // namespace chokepoint::capture::packet
