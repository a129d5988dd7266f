// IP fragments, over ip.cc and transport.cc.
#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;

constexpr std::int64_t kSecond = 1'000'000'000;

class FragmentsOf : public testing::Test {
 protected:
  Packet decode(const Bytes& bytes, std::int64_t seconds = 0) {
    Frame frame = fakes::whole(bytes);
    frame.time_ns += seconds * kSecond;
    return decoded(decoder_, frame);
  }

  Decoder decoder_;
};

// 44 bytes of payload behind TCP's 20, so that the second piece begins at 64.
Bytes first_of_tcp(std::uint8_t flags = kAck, std::uint16_t id = 1, std::uint16_t port = 40'000) {
  return FrameBuilder()
      .ethernet()
      .ipv4({.id = id, .more_fragments = true})
      .tcp({.source_port = port, .sequence = 1'000, .acknowledgement = 77, .flags = flags})
      .payload(44)
      .build();
}

Bytes later(std::uint16_t offset, bool more, std::uint8_t protocol = 6, std::uint16_t id = 1) {
  return FrameBuilder()
      .ethernet()
      .ipv4({.id = id, .fragment_offset = offset, .more_fragments = more, .protocol = protocol})
      .payload(64)
      .build();
}

TEST_F(FragmentsOf, TcpMoveTheSequenceOn) {
  const Packet first = decode(first_of_tcp());
  EXPECT_EQ(first.kind, Kind::Tcp);
  EXPECT_FALSE(first.is_later_fragment);
  EXPECT_EQ(first.payload_bytes, 44);
  const Packet second = decode(later(64, true));
  EXPECT_EQ(second.kind, Kind::Tcp);
  EXPECT_TRUE(second.is_later_fragment);
  EXPECT_EQ(second.ends, first.ends);
  EXPECT_EQ(second.tcp.sequence, 1'044);
  EXPECT_EQ(second.tcp.acknowledgement, 77);
  EXPECT_EQ(second.tcp.flags, kAck);
  EXPECT_EQ(second.payload_bytes, 64);
  EXPECT_EQ(second.captured_payload_bytes, 64);
  EXPECT_EQ(second.header_bytes, 34);
  EXPECT_EQ(decode(later(128, false)).tcp.sequence, 1'108);
}

TEST_F(FragmentsOf, TcpBeginAndEndTheConnectionOnce) {
  EXPECT_EQ(decode(first_of_tcp(kSyn | kFin | kPush | kAck)).tcp.flags, kSyn | kPush | kAck);
  const Packet middle = decode(later(64, true));
  EXPECT_EQ(middle.tcp.flags, kAck);
  EXPECT_EQ(middle.tcp.sequence, 1'045);
  EXPECT_EQ(decode(later(128, false)).tcp.flags, kAck | kFin);
}

TEST_F(FragmentsOf, UdpHaveThePortsOfTheFirst) {
  const Bytes bytes = FrameBuilder()
                          .ethernet()
                          .ipv4({.more_fragments = true})
                          .udp({.destination_port = 53, .length = 8 + 24 + 64})
                          .payload(24)
                          .build();
  const Packet first = decode(bytes);
  EXPECT_EQ(first.kind, Kind::Udp);
  EXPECT_EQ(first.payload_bytes, 24);
  const Packet last = decode(later(32, false, 17));
  EXPECT_EQ(last.kind, Kind::Udp);
  EXPECT_EQ(last.ends.destination_port, 53);
  EXPECT_EQ(last.payload_bytes, 64);
}

TEST_F(FragmentsOf, Ipv6CountFromBehindTheFragmentHeader) {
  const Bytes first = FrameBuilder()
                          .ethernet()
                          .ipv6()
                          .extension({.protocol = 0})
                          .fragment({.id = 0x1234'5678, .more = true})
                          .extension({.protocol = 60})
                          .tcp({.sequence = 1'000})
                          .payload(4)
                          .build();
  const Bytes second = FrameBuilder()
                           .ethernet()
                           .ipv6()
                           .extension({.protocol = 0})
                           .fragment({.id = 0x1234'5678, .offset = 32, .next_header = 60})
                           .payload(100)
                           .build();
  EXPECT_EQ(decode(first).payload_bytes, 4);
  const Packet packet = decode(second);
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.tcp.sequence, 1'004);
  EXPECT_EQ(packet.ends.protocol, 6);
  EXPECT_EQ(packet.payload_bytes, 100);
}

TEST_F(FragmentsOf, APacketThatIsNoneMayHaveTheHeader) {
  const Packet packet =
      decode(FrameBuilder().ethernet().ipv6().fragment({}).tcp({.flags = kFin}).payload(9).build());
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.tcp.flags, kFin);
  EXPECT_EQ(packet.payload_bytes, 9);
}

TEST_F(FragmentsOf, UnknownPacketsHaveNoPorts) {
  const Packet early = decode(later(64, true));
  EXPECT_EQ(early.kind, Kind::OtherIp);
  EXPECT_TRUE(early.is_later_fragment);
  EXPECT_EQ(early.ends.source_port, 0);
  EXPECT_EQ(early.payload_bytes, 64);
  decode(first_of_tcp());
  EXPECT_EQ(decode(later(64, true, 6, 2)).kind, Kind::OtherIp);
  EXPECT_EQ(decode(later(64, true, 17)).kind, Kind::OtherIp);
  EXPECT_EQ(decode(later(64, true)).kind, Kind::Tcp);
}

TEST_F(FragmentsOf, OtherHostsAreNotMixedUp) {
  decode(first_of_tcp());
  const Bytes other = FrameBuilder()
                          .ethernet()
                          .ipv4({.source = "10.0.0.3", .fragment_offset = 64, .protocol = 6})
                          .payload(64)
                          .build();
  EXPECT_EQ(decode(other).kind, Kind::OtherIp);
}

TEST_F(FragmentsOf, APieceOverTheFirstOnesHeaderIsNotBelieved) {
  decode(first_of_tcp());
  EXPECT_EQ(decode(later(8, true)).kind, Kind::OtherIp);
  EXPECT_EQ(decode(later(16, true)).kind, Kind::OtherIp);
  EXPECT_EQ(decode(later(24, true)).kind, Kind::Tcp);
}

TEST_F(FragmentsOf, ATinyFirstPieceIsMalformed) {
  const Bytes tiny = FrameBuilder()
                         .ethernet()
                         .ipv4({.more_fragments = true, .protocol = 6})
                         .bytes(Bytes(16, 0x50))
                         .build();
  EXPECT_EQ(decode(tiny).kind, Kind::Malformed);
  EXPECT_EQ(decode(later(16, false)).kind, Kind::OtherIp);
}

TEST_F(FragmentsOf, TheLastFirstPieceOfAnIdCounts) {
  decode(first_of_tcp(kAck, 1, 1'111));
  decode(first_of_tcp(kAck, 1, 2'222));
  EXPECT_EQ(decode(later(64, false)).ends.source_port, 2'222);
}

TEST_F(FragmentsOf, AFirstPieceIsForgottenAfterHalfAMinute) {
  decode(first_of_tcp());
  EXPECT_EQ(decode(later(64, true), 30).kind, Kind::Tcp);
  EXPECT_EQ(decode(later(64, true), 31).kind, Kind::OtherIp);
  EXPECT_EQ(decode(later(64, true), -1).kind, Kind::Tcp);
  EXPECT_EQ(decode(later(64, true), -31).kind, Kind::OtherIp);
}

TEST_F(FragmentsOf, ManyPacketsPushOutTheOldOnes) {
  for (std::uint16_t id = 1; id <= 10'000; ++id) {
    decode(first_of_tcp(kAck, id));
  }
  EXPECT_EQ(decode(later(64, true, 6, 10'000)).kind, Kind::Tcp);
  EXPECT_EQ(decode(later(64, true, 6, 1)).kind, Kind::OtherIp);
}

TEST_F(FragmentsOf, RoceAreUdp) {
  const Bytes first = FrameBuilder()
                          .ethernet()
                          .ipv4({.more_fragments = true})
                          .udp({.destination_port = 4'791, .length = 8 + 24 + 64})
                          .bth()
                          .payload(12)
                          .build();
  EXPECT_EQ(decode(first).kind, Kind::Udp);
}

}  // namespace
}  // namespace chokepoint::capture::packet
