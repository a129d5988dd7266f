// RoCE inside UDP, over transport.cc and roce_operation.h.
#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;

constexpr std::size_t kUdpEnd = 14 + 20 + 8;
constexpr std::size_t kCheck = 4;

FrameBuilder with(const fakes::Bth& fields) {
  return FrameBuilder().ethernet().ipv4().udp({.destination_port = 4'791}).bth(fields);
}

struct Operation {
  std::uint8_t opcode;
  std::size_t extended_bytes;
};

// One of each shape, of each service.
constexpr Operation kOperations[] = {
    {0x00, 0},  {0x01, 0},  {0x02, 0},  {0x03, 4},  {0x04, 0},  {0x05, 4}, {0x06, 16}, {0x07, 0},
    {0x08, 0},  {0x09, 4},  {0x0a, 16}, {0x0b, 20}, {0x0c, 16}, {0x0d, 4}, {0x0e, 0},  {0x0f, 4},
    {0x10, 4},  {0x11, 4},  {0x12, 12}, {0x13, 28}, {0x14, 28}, {0x16, 4}, {0x17, 4},  {0x24, 0},
    {0x2a, 16}, {0x44, 12}, {0x4d, 8},  {0x64, 8},  {0x65, 12}, {0xa4, 4}, {0xaa, 20}, {0xad, 4}};

TEST(Roce, EveryOperationsHeadersAreNoPayload) {
  for (const auto& [opcode, extended] : kOperations) {
    const Bytes frame =
        with({.opcode = opcode}).bytes(Bytes(extended)).payload(64).bytes(Bytes(kCheck)).build();
    const Packet packet = decoded(frame);
    EXPECT_EQ(packet.kind, Kind::Roce) << int{opcode};
    EXPECT_EQ(packet.payload_bytes, 64) << int{opcode};
    EXPECT_EQ(packet.payload, frame.data() + kUdpEnd + 12 + extended) << int{opcode};
    EXPECT_EQ(packet.header_bytes, kUdpEnd);
  }
}

TEST(Roce, TheBaseHeaderIsRead) {
  const Packet packet = decoded(with({.opcode = 0x07,
                                      .queue_pair = 0xabcdef,
                                      .sequence = 0xfedcba,
                                      .wants_ack = true,
                                      .forward_congestion = true})
                                    .payload(100)
                                    .bytes(Bytes(kCheck))
                                    .build());
  EXPECT_EQ(packet.roce.opcode, 0x07);
  EXPECT_EQ(packet.roce.queue_pair, 0xabcdef);
  EXPECT_EQ(packet.roce.sequence, 0xfedcba);
  EXPECT_TRUE(packet.roce.wants_ack);
  EXPECT_TRUE(packet.roce.forward_congestion);
  EXPECT_FALSE(packet.roce.backward_congestion);
  EXPECT_FALSE(packet.roce.has_aeth);
  EXPECT_FALSE(packet.roce.has_reth);
}

TEST(Roce, PaddingIsNoPayload) {
  EXPECT_EQ(decoded(with({.pad = 3}).payload(5 + 3).bytes(Bytes(kCheck)).build()).payload_bytes, 5);
}

TEST(Roce, ARequestTellsItsLength) {
  const Bytes reth{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x12, 0x34, 0x56};
  const Packet packet = decoded(with({.opcode = 0x0c}).bytes(reth).bytes(Bytes(kCheck)).build());
  EXPECT_TRUE(packet.roce.has_reth);
  EXPECT_EQ(packet.roce.dma_bytes, 0x123456);
  EXPECT_EQ(packet.payload_bytes, 0);
}

TEST(Roce, ARequestOfAnotherServiceTellsItsLengthToo) {
  const Bytes xrceth(4, 0xff);
  const Bytes reth{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 64};
  const Packet packet =
      decoded(with({.opcode = 0xaa}).bytes(xrceth).bytes(reth).payload(64).bytes(Bytes(4)).build());
  EXPECT_EQ(packet.roce.dma_bytes, 64);
}

TEST(Roce, AnAcknowledgementTellsSyndromeAndMessage) {
  const Packet packet =
      decoded(with({.opcode = 0x11}).bytes({0x60, 0x01, 0x02, 0x03}).bytes(Bytes(kCheck)).build());
  EXPECT_TRUE(packet.roce.has_aeth);
  EXPECT_EQ(packet.roce.syndrome, 0x60);
  EXPECT_EQ(packet.roce.message, 0x010203);
  EXPECT_EQ(packet.payload_bytes, 0);
}

TEST(Roce, ACongestionNotificationCarriesNothing) {
  const Packet packet = decoded(
      with({.opcode = 0x81, .backward_congestion = true}).bytes(Bytes(16 + kCheck)).build());
  EXPECT_EQ(packet.kind, Kind::Roce);
  EXPECT_TRUE(packet.roce.backward_congestion);
  EXPECT_EQ(packet.payload_bytes, 0);
}

TEST(Roce, SomethingElseOnThePortIsUdp) {
  const Bytes short_one =
      FrameBuilder().ethernet().ipv4().udp({.destination_port = 4'791}).payload(15).build();
  const Bytes other_version = with({.pad = 0}).payload(64).build();
  Bytes versioned = other_version;
  versioned[kUdpEnd + 1] |= 1;
  const Bytes other_service = with({.opcode = 0xc0}).payload(64).build();
  const Bytes too_short = with({.opcode = 0x0c}).bytes(Bytes(15 + kCheck)).build();
  for (const Bytes& frame : {short_one, versioned, other_service, too_short}) {
    const Packet packet = decoded(frame);
    EXPECT_EQ(packet.kind, Kind::Udp);
    EXPECT_EQ(packet.payload_bytes, frame.size() - kUdpEnd);
    EXPECT_EQ(packet.roce.queue_pair, 0);
  }
}

TEST(Roce, ACutLeavesWhatWasRead) {
  const Bytes frame = with({.opcode = 0x06, .queue_pair = 9})
                          .bytes(Bytes(16))
                          .payload(1'024)
                          .bytes(Bytes(kCheck))
                          .build();
  const Packet base = decoded(fakes::cut(frame, kUdpEnd + 12));
  EXPECT_EQ(base.kind, Kind::Roce);
  EXPECT_EQ(base.roce.queue_pair, 9);
  EXPECT_FALSE(base.roce.has_reth);
  EXPECT_EQ(base.payload_bytes, 1'024);
  EXPECT_EQ(base.captured_payload_bytes, 0);
  EXPECT_TRUE(decoded(fakes::cut(frame, kUdpEnd + 28)).roce.has_reth);
  EXPECT_EQ(decoded(fakes::cut(frame, kUdpEnd + 11)).kind, Kind::Udp);
}

TEST(Roce, TheCheckAtTheEndIsNeverPayload) {
  const Bytes frame = with({}).payload(64).bytes(Bytes(kCheck)).trailer(Bytes(4)).build();
  EXPECT_EQ(decoded(frame).captured_payload_bytes, 64);
}

}  // namespace
}  // namespace chokepoint::capture::packet
