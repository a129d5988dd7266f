#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;
using fakes::operator+;

TEST(Ip, BothFamiliesAddressesAreTold) {
  const Packet ipv6 = decoded(FrameBuilder()
                                  .ethernet()
                                  .ipv6({.source = "fd77::a:1",
                                         .destination = "2001:db8::2",
                                         .traffic_class = 2,
                                         .hop_limit = 9})
                                  .udp()
                                  .payload(7)
                                  .build());
  EXPECT_EQ(ipv6.kind, Kind::Udp);
  EXPECT_EQ(source(ipv6), "fd77::a:1");
  EXPECT_EQ(destination(ipv6), "2001:db8::2");
  EXPECT_TRUE(ipv6.ends.is_ipv6);
  EXPECT_EQ(ipv6.ends.protocol, 17);
  EXPECT_EQ(ipv6.congestion_bits, 2);
  EXPECT_EQ(ipv6.hop_limit, 9);
  EXPECT_FALSE(ipv6.has_ip_id);
  EXPECT_EQ(ipv6.header_bytes, 14 + 40 + 8);
  EXPECT_EQ(ipv6.payload_bytes, 7);
}

TEST(Ip, OptionsOfIpv4AreSkipped) {
  const Packet packet =
      decoded(FrameBuilder().ethernet().ipv4({.options = Bytes(40)}).tcp().payload(5).build());
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.header_bytes, 14 + 60 + 20);
  EXPECT_EQ(packet.payload_bytes, 5);
}

TEST(Ip, EachExtensionHeaderIsSkipped) {
  for (const std::uint8_t extension : Bytes{0, 43, 60, 135, 139, 140}) {
    const Packet packet = decoded(FrameBuilder()
                                      .ethernet()
                                      .ipv6()
                                      .extension({.protocol = extension, .body = Bytes(14)})
                                      .tcp()
                                      .payload(5)
                                      .build());
    EXPECT_EQ(packet.kind, Kind::Tcp) << int{extension};
    EXPECT_EQ(packet.ends.protocol, 6);
    EXPECT_EQ(packet.header_bytes, 14 + 40 + 16 + 20);
    EXPECT_EQ(packet.payload_bytes, 5);
  }
}

TEST(Ip, AnAuthenticationHeaderIsSkippedInBothFamilies) {
  const fakes::Extension authentication{.protocol = 51, .body = Bytes(22)};
  const Packet ipv4 =
      decoded(FrameBuilder().ethernet().ipv4().extension(authentication).tcp().payload(5).build());
  const Packet ipv6 =
      decoded(FrameBuilder().ethernet().ipv6().extension(authentication).tcp().payload(5).build());
  EXPECT_EQ(ipv4.kind, Kind::Tcp);
  EXPECT_EQ(ipv4.header_bytes, 14 + 20 + 24 + 20);
  EXPECT_EQ(ipv6.kind, Kind::Tcp);
  EXPECT_EQ(ipv6.payload_bytes, 5);
}

TEST(Ip, SeveralExtensionHeadersAreSkippedAndEndlessOnesAreNot) {
  FrameBuilder builder;
  builder.ethernet().ipv6();
  for (const std::uint8_t extension : Bytes{0, 60, 43, 60}) {
    builder.extension({.protocol = extension});
  }
  EXPECT_EQ(decoded(FrameBuilder(builder).tcp().build()).kind, Kind::Tcp);
  for (int i = 0; i < 1'000; ++i) {
    builder.extension({.protocol = 60});
  }
  EXPECT_EQ(decoded(builder.tcp().build()).kind, Kind::OtherIp);
}

TEST(Ip, AnExtensionHeaderBeyondThePacketContradictsItself) {
  Bytes frame = FrameBuilder().ethernet().ipv6().extension({.protocol = 60}).tcp().build();
  frame[14 + 40 + 1] = 200;
  EXPECT_EQ(decoded(frame).kind, Kind::Malformed);
}

TEST(Ip, AnotherProtocolKeepsItsNumberAndItsBytes) {
  const Packet packet =
      decoded(FrameBuilder().ethernet().ipv4({.protocol = 1}).bytes(Bytes(20)).build());
  EXPECT_EQ(packet.kind, Kind::OtherIp);
  EXPECT_EQ(packet.ends.protocol, 1);
  EXPECT_EQ(packet.header_bytes, 34);
  EXPECT_EQ(packet.payload_bytes, 20);
  EXPECT_EQ(packet.ends.source_port, 0);
}

TEST(Ip, EthernetsPaddingAndAFrameCheckAreNoPayload) {
  const Bytes ack = FrameBuilder().ethernet().ipv4().tcp().trailer(Bytes(6 + 4)).build();
  EXPECT_EQ(decoded(ack).payload_bytes, 0);
  EXPECT_EQ(decoded(ack).captured_payload_bytes, 0);
  EXPECT_EQ(decoded(ack).frame_bytes, 64);
  const Bytes ipv6 = FrameBuilder().ethernet().ipv6().udp().payload(3).trailer(Bytes(4)).build();
  EXPECT_EQ(decoded(ipv6).payload_bytes, 3);
  EXPECT_EQ(decoded(ipv6).captured_payload_bytes, 3);
  const Bytes nothing = FrameBuilder().ethernet().ipv6().trailer(Bytes(6)).build();
  EXPECT_EQ(decoded(nothing).payload_bytes, 0);
}

TEST(Ip, PayloadThatWasNotCapturedIsStillCounted) {
  const Bytes frame = FrameBuilder().ethernet().ipv4().udp().payload(1'000).build();
  const Packet packet = decoded(fakes::cut(frame, 96));
  EXPECT_EQ(packet.payload_bytes, 1'000);
  EXPECT_EQ(packet.captured_payload_bytes, 96 - 42);
  EXPECT_EQ(packet.payload, frame.data() + 42);
}

TEST(Ip, ALengthBeyondTheFrameContradictsItself) {
  const auto ipv4 = [](std::uint16_t length) {
    return decoded(
        FrameBuilder().ethernet().ipv4({.total_length = length}).tcp().payload(10).build());
  };
  EXPECT_EQ(ipv4(50).kind, Kind::Tcp);
  EXPECT_EQ(ipv4(51).kind, Kind::Malformed);
  EXPECT_EQ(ipv4(39).kind, Kind::Malformed);
  EXPECT_EQ(ipv4(19).kind, Kind::Malformed);
  EXPECT_EQ(
      decoded(FrameBuilder().ethernet().ipv6({.payload_length = 31}).tcp().payload(10).build())
          .kind,
      Kind::Malformed);
}

TEST(Ip, AVersionThatIsNotTheEtherTypesContradictsIt) {
  EXPECT_EQ(
      decoded(FrameBuilder().ethernet({.type = 0x86dd}).ipv4().tcp().payload(40).build()).kind,
      Kind::Malformed);
  EXPECT_EQ(decoded(FrameBuilder().ethernet({.type = 0x0800}).ipv6().tcp().build()).kind,
            Kind::Malformed);
  Bytes short_header = FrameBuilder().ethernet().ipv4().tcp().build();
  short_header[14] = 0x44;
  EXPECT_EQ(decoded(short_header).kind, Kind::Malformed);
}

TEST(Ip, AFrameLargerThanItWasSaysWhatItHas) {
  Bytes frame = FrameBuilder().ethernet().ipv4().tcp().payload(10).build();
  Frame lying = fakes::whole(frame);
  lying.frame_bytes = 60;
  EXPECT_EQ(decoded(lying).kind, Kind::Malformed);
}

TEST(SuperFrame, ALengthOfNothingIsTheFrames) {
  const Bytes frame =
      FrameBuilder().ethernet().ipv4({.total_length = 0}).tcp().payload(150'000).build();
  const Packet packet = decoded(fakes::cut(frame, 128));
  EXPECT_EQ(packet.kind, Kind::Tcp);
  EXPECT_EQ(packet.payload_bytes, 150'000);
  EXPECT_EQ(packet.captured_payload_bytes, 128 - 54);
}

TEST(SuperFrame, Ipv6TellsItsLengthInAJumboOptionOrNotAtAll) {
  constexpr std::uint32_t kPayload = 150'000;
  const std::uint32_t length = 8 + 20 + kPayload;
  const Bytes option{0xc2,
                     4,
                     static_cast<std::uint8_t>(length >> 24),
                     static_cast<std::uint8_t>(length >> 16),
                     static_cast<std::uint8_t>(length >> 8),
                     static_cast<std::uint8_t>(length)};
  const Bytes told = FrameBuilder()
                         .ethernet()
                         .ipv6({.payload_length = 0})
                         .extension({.protocol = 0, .body = option})
                         .tcp()
                         .payload(kPayload)
                         .trailer(Bytes(4))
                         .build();
  EXPECT_EQ(decoded(told).kind, Kind::Tcp);
  EXPECT_EQ(decoded(told).payload_bytes, kPayload);
  EXPECT_EQ(decoded(told).header_bytes, 14 + 40 + 20);  // no segment will have the option
  const Bytes untold =
      FrameBuilder().ethernet().ipv6({.payload_length = 0}).tcp().payload(kPayload).build();
  EXPECT_EQ(decoded(untold).payload_bytes, kPayload);
}

TEST(SuperFrame, AJumboOptionBeyondTheFrameContradictsItself) {
  const auto with = [](const Bytes& length) {
    return decoded(FrameBuilder()
                       .ethernet()
                       .ipv6({.payload_length = 0})
                       .extension({.protocol = 0, .body = Bytes{0xc2, 4} + length})
                       .tcp()
                       .payload(100)
                       .build())
        .kind;
  };
  EXPECT_EQ(with({0, 0, 0, 128}), Kind::Tcp);
  EXPECT_EQ(with({0, 0, 0, 129}), Kind::Malformed);
  EXPECT_EQ(with({0xff, 0xff, 0xff, 0xff}), Kind::Malformed);
  EXPECT_EQ(with({0, 0, 0, 4}), Kind::Malformed);
}

}  // namespace
}  // namespace chokepoint::capture::packet
