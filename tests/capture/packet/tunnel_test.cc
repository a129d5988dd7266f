// Packets inside packets, over ip.cc, link.cc and transport.cc.
#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;

const fakes::Ipv4 kInner{.source = "192.168.0.1", .destination = "192.168.0.2"};

FrameBuilder outer() { return FrameBuilder().ethernet().ipv4(); }
FrameBuilder vxlan(std::uint16_t port = 4'789) {
  return outer().udp({.source_port = 50'000, .destination_port = port}).vxlan(0x123456);
}
Bytes tcp_in(FrameBuilder builder) {
  return builder.ipv4(kInner).tcp({.sequence = 5}).payload(10).build();
}

void expect_inner(const Packet& packet, std::uint32_t header_bytes, std::uint32_t tunnel) {
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(source(packet), "192.168.0.1");
  EXPECT_EQ(packet.ends.source_port, 40'000);
  EXPECT_EQ(packet.ends.tunnel, tunnel);
  EXPECT_EQ(packet.tcp.sequence, 5);
  EXPECT_EQ(packet.header_bytes, header_bytes);
  EXPECT_EQ(packet.payload_bytes, 10);
}

TEST(Tunnel, VxlanIsLookedIntoOnBothItsPorts) {
  for (const std::uint16_t port : std::vector<std::uint16_t>{4'789, 8'472}) {
    const Bytes frame = tcp_in(vxlan(port).ethernet());
    expect_inner(decoded(frame, {.vxlan = true}), 14 + 20 + 8 + 8 + 14 + 40, 0x123456);
  }
}

TEST(Tunnel, TheOutermostVlanStays) {
  const Bytes frame = tcp_in(FrameBuilder()
                                 .ethernet()
                                 .vlan({.id = 3})
                                 .ipv4()
                                 .udp({.destination_port = 4'789})
                                 .vxlan(9)
                                 .ethernet()
                                 .vlan({.id = 4}));
  EXPECT_EQ(decoded(frame, {.vxlan = true}).vlan, 3);
  expect_inner(decoded(frame, {.vxlan = true}), 18 + 20 + 8 + 8 + 18 + 40, 9);
}

TEST(Tunnel, GeneveHasOptionsAndMayCarryIpItself) {
  const auto geneve = [](const Bytes& options) {
    return outer().udp({.destination_port = 6'081}).geneve({.network = 77, .options = options});
  };
  const Tunnels wanted{.geneve = true};
  expect_inner(decoded(tcp_in(geneve({}).ethernet()), wanted), 42 + 8 + 14 + 40, 77);
  expect_inner(decoded(tcp_in(geneve(Bytes(252)).ethernet()), wanted), 42 + 260 + 14 + 40, 77);
  expect_inner(decoded(tcp_in(geneve(Bytes(4))), wanted), 42 + 12 + 40, 77);
}

TEST(Tunnel, GresOptionalFieldsAreSkipped) {
  const Tunnels wanted{.gre = true};
  expect_inner(decoded(tcp_in(outer().gre()), wanted), 34 + 4 + 40, 0);
  expect_inner(decoded(tcp_in(outer().gre({.checksum = 1})), wanted), 34 + 8 + 40, 0);
  expect_inner(decoded(tcp_in(outer().gre({.key = 0xfedc'ba98})), wanted), 34 + 8 + 40,
               0xfedc'ba98);
  expect_inner(decoded(tcp_in(outer().gre({.sequence = 9})), wanted), 34 + 8 + 40, 0);
  expect_inner(decoded(tcp_in(outer().gre({.checksum = 1, .key = 2, .sequence = 3})), wanted),
               34 + 16 + 40, 2);
}

TEST(Tunnel, GreMayCarryEthernet) {
  expect_inner(decoded(tcp_in(outer().gre({.key = 8}).ethernet()), {.gre = true}), 34 + 8 + 14 + 40,
               8);
}

TEST(Tunnel, GreOfAnotherVersionIsNotLookedInto) {
  Bytes frame = tcp_in(outer().gre());
  frame[14 + 20 + 1] |= 1;
  EXPECT_EQ(decoded(frame, {.gre = true}).kind, Kind::OtherIp);
}

TEST(Tunnel, EachFamilyMayCarryEach) {
  const Tunnels wanted{.ip_in_ip = true};
  const auto ipv6 = [] { return FrameBuilder().ethernet().ipv6(); };
  expect_inner(decoded(tcp_in(outer()), wanted), 34 + 40, 0);
  expect_inner(decoded(tcp_in(ipv6()), wanted), 54 + 40, 0);
  for (const auto& builder : {outer(), ipv6()}) {
    const Bytes frame = FrameBuilder(builder).ipv6({.source = "fd00::9"}).udp().payload(3).build();
    const Packet packet = decoded(frame, wanted);
    EXPECT_EQ(packet.kind, Kind::Udp);
    EXPECT_EQ(source(packet), "fd00::9");
    EXPECT_EQ(packet.payload_bytes, 3);
  }
}

TEST(Tunnel, OnlyThoseThatWereAskedForAreLookedInto) {
  const Bytes frame = tcp_in(vxlan().ethernet());
  const Packet packet = decoded(frame, {.geneve = true, .gre = true, .ip_in_ip = true});
  EXPECT_EQ(packet.kind, Kind::Udp);
  EXPECT_EQ(packet.ends.source_port, 50'000);
  EXPECT_EQ(packet.ends.tunnel, 0);
  EXPECT_EQ(packet.header_bytes, 42);
  EXPECT_EQ(packet.payload_bytes, 8 + 14 + 50);
  EXPECT_EQ(decoded(tcp_in(outer())).kind, Kind::OtherIp);
}

TEST(Tunnel, NestedOnesAreFollowedToAFixedDepth) {
  expect_inner(decoded(tcp_in(vxlan().ethernet().ipv4().gre()), kAllTunnels), 50 + 14 + 20 + 4 + 40,
               0x123456);
  FrameBuilder builder = outer();
  for (int i = 0; i < 3; ++i) {
    builder.ipv4();
  }
  expect_inner(decoded(tcp_in(builder), kAllTunnels), 14 + 4 * 20 + 40, 0);
  builder.ipv4();
  const Packet packet = decoded(tcp_in(builder), kAllTunnels);
  EXPECT_EQ(packet.kind, Kind::OtherIp);
  EXPECT_EQ(packet.ends.protocol, 4);
}

TEST(Tunnel, TheOuterPacketIsSeenWhereTheInnerIsNone) {
  const Bytes arp = vxlan().ethernet({.type = 0x0806}).bytes(Bytes(28)).build();
  const Bytes broken = vxlan().ethernet({.type = 0x0800}).bytes(Bytes(40)).build();
  const Bytes nothing = vxlan().build();
  Bytes no_network = tcp_in(vxlan().ethernet());
  no_network[42] = 0;
  for (const Bytes& frame : {arp, broken, nothing, no_network}) {
    const Packet packet = decoded(frame, kAllTunnels);
    EXPECT_EQ(packet.kind, Kind::Udp);
    EXPECT_EQ(packet.ends.source_port, 50'000);
    EXPECT_EQ(packet.ends.tunnel, 0);
    EXPECT_EQ(packet.payload_bytes, frame.size() - 42);
  }
}

TEST(Tunnel, AMarkOutsideReachesWhatAllowsMarksInside) {
  const auto bits = [](std::uint8_t outside, std::uint8_t inside) {
    const Bytes frame = FrameBuilder()
                            .ethernet()
                            .ipv4({.type_of_service = outside})
                            .ipv4({.type_of_service = inside})
                            .tcp()
                            .build();
    return decoded(frame, kAllTunnels).congestion_bits;
  };
  EXPECT_EQ(bits(3, 2), 3);
  EXPECT_EQ(bits(3, 0), 0);
  EXPECT_EQ(bits(2, 1), 1);
}

TEST(Tunnel, InsideAnOuterFragmentIsWhatItHas) {
  const Bytes frame = FrameBuilder()
                          .ethernet()
                          .ipv4({.more_fragments = true})
                          .ipv4({.source = "192.168.0.1", .total_length = 1'000})
                          .tcp()
                          .payload(40)
                          .build();
  const Packet packet = decoded(frame, kAllTunnels);
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.payload_bytes, 40);
}

TEST(Tunnel, MoreInsideThanOutsideContradictsItself) {
  const Bytes frame = outer().ipv4({.total_length = 1'000}).tcp().payload(40).build();
  const Packet packet = decoded(frame, kAllTunnels);
  EXPECT_EQ(packet.kind, Kind::OtherIp);
  EXPECT_EQ(packet.ends.protocol, 4);
}

}  // namespace
}  // namespace chokepoint::capture::packet
