// UDP's header, over transport.cc through the decoder.
#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;

Packet with_length(std::uint16_t length) {
  return decoded(FrameBuilder().ethernet().ipv4().udp({.length = length}).payload(100).build());
}

TEST(Udp, ItsOwnLengthCountsWhereItIsShorter) {
  EXPECT_EQ(with_length(108).payload_bytes, 100);
  EXPECT_EQ(with_length(58).payload_bytes, 50);
  EXPECT_EQ(with_length(58).captured_payload_bytes, 50);
  EXPECT_EQ(with_length(8).payload_bytes, 0);
}

TEST(Udp, ALengthOfNothingIsThePackets) { EXPECT_EQ(with_length(0).payload_bytes, 100); }

TEST(Udp, ALengthThatCannotBeContradictsItself) {
  EXPECT_EQ(with_length(7).kind, Kind::Malformed);
  EXPECT_EQ(with_length(109).kind, Kind::Malformed);
}

TEST(Udp, ThePortsSufficeWhereTheRestWasCut) {
  const Bytes frame = FrameBuilder().ethernet().ipv4().udp().payload(100).build();
  const Packet packet = decoded(fakes::cut(frame, 14 + 20 + 4));
  EXPECT_EQ(packet.kind, Kind::Udp);
  EXPECT_EQ(packet.ends.destination_port, 5'201);
  EXPECT_EQ(packet.payload_bytes, 100);
  EXPECT_EQ(packet.captured_payload_bytes, 0);
  EXPECT_EQ(decoded(fakes::cut(frame, 14 + 20 + 3)).kind, Kind::Malformed);
}

}  // namespace
}  // namespace chokepoint::capture::packet
