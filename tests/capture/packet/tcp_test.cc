// TCP's header and options, over transport.cc through the decoder.
#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;
using fakes::operator+;

Packet with_options(const Bytes& options, std::size_t payload = 0) {
  return decoded(
      FrameBuilder().ethernet().ipv4().tcp({.options = options}).payload(payload).build());
}

TEST(Tcp, EveryFieldOfTheHeadersIsRead) {
  const Bytes frame = FrameBuilder()
                          .ethernet()
                          .ipv4({.source = "10.0.0.7",
                                 .destination = "10.0.0.9",
                                 .id = 0x1234,
                                 .type_of_service = 3,
                                 .hop_limit = 61})
                          .tcp({.source_port = 40'001,
                                .destination_port = 443,
                                .sequence = 0xfedc'ba98,
                                .acknowledgement = 0x0123'4567,
                                .flags = kAck | kPush | kFin,
                                .window = 0x8001,
                                .checksum = 0xbeef,
                                .options = fakes::timestamps(0xa1a2'a3a4, 0xb1b2'b3b4)})
                          .payload(1'448)
                          .build();
  const Packet packet = decoded(frame);
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(source(packet), "10.0.0.7");
  EXPECT_EQ(destination(packet), "10.0.0.9");
  EXPECT_EQ(packet.ends.source_port, 40'001);
  EXPECT_EQ(packet.ends.destination_port, 443);
  EXPECT_EQ(packet.ends.protocol, 6);
  EXPECT_EQ(packet.ends.tunnel, 0);
  EXPECT_TRUE(packet.has_ip_id);
  EXPECT_EQ(packet.ip_id, 0x1234);
  EXPECT_EQ(packet.congestion_bits, 3);
  EXPECT_EQ(packet.hop_limit, 61);
  EXPECT_EQ(packet.tcp.sequence, 0xfedc'ba98);
  EXPECT_EQ(packet.tcp.acknowledgement, 0x0123'4567);
  EXPECT_EQ(packet.tcp.flags, kAck | kPush | kFin);
  EXPECT_EQ(packet.tcp.window, 0x8001);
  EXPECT_EQ(packet.tcp.checksum, 0xbeef);
  EXPECT_EQ(packet.tcp.options, kHasTimestamps);
  EXPECT_EQ(packet.tcp.timestamp, 0xa1a2'a3a4);
  EXPECT_EQ(packet.tcp.timestamp_echo, 0xb1b2'b3b4);
  EXPECT_EQ(packet.frame_bytes, 66 + 1'448);
  EXPECT_EQ(packet.header_bytes, 66);
  EXPECT_EQ(packet.payload_bytes, 1'448);
  EXPECT_EQ(packet.captured_payload_bytes, 1'448);
  EXPECT_EQ(packet.payload, frame.data() + 66);
}

TEST(Tcp, AHandshakesOptionsAreRead) {
  const Packet packet = with_options(fakes::maximum_segment_size(8'960) + fakes::sack_permitted() +
                                     fakes::timestamps(5, 0) + fakes::window_scale(9));
  EXPECT_EQ(packet.tcp.options, kHasMss | kHasSackPermitted | kHasTimestamps | kHasWindowScale);
  EXPECT_EQ(packet.tcp.mss, 8'960);
  EXPECT_EQ(packet.tcp.window_scale, 9);
  EXPECT_EQ(packet.tcp.timestamp, 5);
}

TEST(Tcp, AWindowScaleBeyondTheAllowedIsTheMostAllowed) {
  EXPECT_EQ(with_options(fakes::window_scale(255)).tcp.window_scale, 14);
}

TEST(Tcp, SackBlocksComeInTheirOrder) {
  const Packet packet =
      with_options(fakes::timestamps(1, 2) +
                   fakes::selective_acknowledgement({{100, 200}, {0xffff'fff0, 16}, {300, 400}}));
  ASSERT_EQ(packet.tcp.sack_blocks, 3);
  EXPECT_EQ(packet.tcp.sack[0].begin, 100);
  EXPECT_EQ(packet.tcp.sack[0].end, 200);
  EXPECT_EQ(packet.tcp.sack[1].begin, 0xffff'fff0);
  EXPECT_EQ(packet.tcp.sack[1].end, 16);
  EXPECT_EQ(packet.tcp.sack[2].end, 400);
  EXPECT_TRUE(packet.tcp.has(kHasTimestamps));
}

TEST(Tcp, FourSackBlocksFit) {
  const Packet packet =
      with_options(fakes::selective_acknowledgement({{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
  ASSERT_EQ(packet.tcp.sack_blocks, 4);
  EXPECT_EQ(packet.tcp.sack[3].end, 8);
}

TEST(Tcp, NothingOfThePacketBeforeStays) {
  Decoder decoder;
  Packet packet;
  const Bytes first = FrameBuilder()
                          .ethernet()
                          .vlan()
                          .ipv4({.type_of_service = 3})
                          .tcp({.sequence = 9,
                                .acknowledgement = 9,
                                .flags = 0xff,
                                .checksum = 9,
                                .options = fakes::maximum_segment_size(9) + fakes::window_scale(9) +
                                           fakes::timestamps(9, 9)})
                          .payload(9)
                          .build();
  const Bytes second(60);
  decoder.decode(fakes::whole(first), packet);
  decoder.decode(fakes::whole(second), packet);
  EXPECT_EQ(packet.kind, Kind::NotIp);
  EXPECT_EQ(packet.ends, Ends{});
  EXPECT_EQ(packet.header_bytes + packet.payload_bytes + packet.captured_payload_bytes, 0);
  EXPECT_EQ(packet.payload, nullptr);
  EXPECT_FALSE(packet.has_ip_id);
  EXPECT_EQ(packet.ip_id + packet.vlan + packet.congestion_bits + packet.hop_limit, 0);
  const Tcp& tcp = packet.tcp;
  EXPECT_EQ(tcp.sequence + tcp.acknowledgement + tcp.timestamp + tcp.timestamp_echo, 0);
  EXPECT_EQ(tcp.window + tcp.checksum + tcp.mss + tcp.window_scale + tcp.flags + tcp.options, 0);
}

TEST(Tcp, OptionsThatContradictThemselvesEndTheList) {
  const Bytes no_length{2, 0, 5, 5};
  const Bytes too_long{8, 60, 1, 1};
  for (const Bytes& wrong : {no_length, too_long}) {
    const Packet packet = with_options(fakes::window_scale(3) + wrong + fakes::sack_permitted(), 5);
    EXPECT_EQ(packet.kind, Kind::Tcp);
    EXPECT_EQ(packet.tcp.options, kHasWindowScale);
    EXPECT_EQ(packet.payload_bytes, 5);
  }
}

TEST(Tcp, OptionsOfAWrongLengthAreNotTaken) {
  const Bytes short_mss{2, 3, 5, 1};
  const Bytes short_timestamps{8, 6, 1, 1, 1, 1, 1, 1};
  const Bytes odd_sack{5, 7, 1, 1, 1, 1, 1, 1};
  const Packet packet = with_options(short_mss + short_timestamps + odd_sack);
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.tcp.options, 0);
  EXPECT_EQ(packet.tcp.sack_blocks, 0);
}

TEST(Tcp, NothingBehindTheEndOfTheListIsTaken) {
  EXPECT_EQ(with_options(Bytes{0, 0, 0, 0} + fakes::window_scale(3)).tcp.options, 0);
}

TEST(Tcp, AHeaderLongerThanThePacketContradictsItself) {
  Bytes frame = FrameBuilder().ethernet().ipv4().tcp().payload(4).build();
  frame[14 + 20 + 12] = 0x70;
  EXPECT_EQ(decoded(frame).kind, Kind::Malformed);
  frame[14 + 20 + 12] = 0x40;
  EXPECT_EQ(decoded(frame).kind, Kind::Malformed);
}

TEST(Tcp, ACutInsideTheOptionsIsSaid) {
  const Bytes frame = FrameBuilder()
                          .ethernet()
                          .ipv4()
                          .tcp({.options = fakes::window_scale(3) + fakes::timestamps(1, 2)})
                          .payload(100)
                          .build();
  const Packet packet = decoded(fakes::cut(frame, 14 + 20 + 20 + 4 + 8));
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.tcp.options, kHasWindowScale | kHasCutOptions);
  EXPECT_EQ(packet.tcp.timestamp, 0);
  EXPECT_EQ(packet.payload_bytes, 100);
  EXPECT_EQ(packet.captured_payload_bytes, 0);
}

TEST(Tcp, WhatLiesInMemoryBehindTheCutIsNotRead) {
  const Bytes frame =
      FrameBuilder().ethernet().ipv4().tcp({.options = fakes::timestamps(1, 2)}).build();
  Decoder decoder;
  Packet packet;
  decoder.decode(fakes::cut(frame, frame.size() - 1), packet);
  EXPECT_EQ(packet.tcp.options, kHasCutOptions);
  EXPECT_EQ(packet.tcp.timestamp, 0);
  decoder.decode(fakes::whole(frame), packet);
  EXPECT_EQ(packet.tcp.timestamp, 1);
}

TEST(Tcp, WithoutItsWindowOnlyThePortsAreKnown) {
  const Bytes frame = FrameBuilder().ethernet().ipv4().tcp().payload(100).build();
  const Packet packet = decoded(fakes::cut(frame, 14 + 20 + 15));
  EXPECT_EQ(packet.kind, Kind::OtherIp);
  EXPECT_EQ(packet.ends.source_port, 40'000);
  EXPECT_EQ(decoded(fakes::cut(frame, 14 + 20 + 16)).kind, Kind::Tcp);
  EXPECT_EQ(decoded(fakes::cut(frame, 14 + 20 + 3)).kind, Kind::Malformed);
}

}  // namespace
}  // namespace chokepoint::capture::packet
