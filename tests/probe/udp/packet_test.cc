#include "probe/udp/packet.h"

#include <gtest/gtest.h>

#include <vector>

namespace chokepoint::probe::udp {
namespace {

const PacketHead kHead{.kind = PacketKind::Ping,
                       .stream = 3,
                       .run = 0x0102,
                       .test = 0xa1b2c3d4e5f60718,
                       .sequence = 0x1122334455667788,
                       .sent_ns = 42};

TEST(Packet, AHeadComesBackAsItWent) {
  std::vector<std::byte> packet(kHeadBytes);
  write_head(kHead, packet);
  EXPECT_EQ(read_head(packet), kHead);
  restamp(packet.data(), 7, 9);
  PacketHead next = kHead;
  next.sequence = 7;
  next.sent_ns = 9;
  EXPECT_EQ(read_head(packet), next);
}

TEST(Packet, NumbersAreBigEndian) {
  std::vector<std::byte> packet(kHeadBytes);
  write_head(kHead, packet);
  EXPECT_EQ(packet[0], std::byte{'C'});
  EXPECT_EQ(packet[6], std::byte{0x01});
  EXPECT_EQ(packet[8], std::byte{0xa1});
  EXPECT_EQ(packet[16], std::byte{0x11});
  EXPECT_EQ(packet[31], std::byte{42});
}

TEST(Packet, WhatIsNoneIsNotRead) {
  std::vector<std::byte> packet(kHeadBytes);
  write_head(kHead, packet);
  EXPECT_FALSE(read_head(std::span(packet).first(kHeadBytes - 1)));
  EXPECT_FALSE(read_head({}));
  packet[4] = std::byte{6};
  EXPECT_FALSE(read_head(packet)) << "no such kind";
  packet[4] = std::byte{1};
  packet[0] = std::byte{'c'};
  EXPECT_FALSE(read_head(packet)) << "another magic";
}

TEST(Packet, ASecretAndTheTimesOfAPong) {
  Secret secret{};
  secret[0] = 1;
  secret[31] = 2;
  EXPECT_EQ(secret_of(secret_packet(kHead, secret)), secret);
  const ExchangePacket pong = pong_packet(kHead, {.received_ns = 5, .answered_ns = 6});
  EXPECT_EQ(pong_times(pong)->received_ns, 5);
  EXPECT_EQ(pong_times(pong)->answered_ns, 6);
  EXPECT_EQ(read_head(pong)->kind, PacketKind::Pong);
  EXPECT_EQ(read_head(pong)->sent_ns, kHead.sent_ns);
  EXPECT_FALSE(secret_of(std::span(pong).first(kHeadBytes)));
  EXPECT_FALSE(pong_times(std::span(pong).first(kExchangeBytes - 1)));
}

}  // namespace
}  // namespace chokepoint::probe::udp
