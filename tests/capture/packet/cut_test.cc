// Every kind of frame, cut at every length: what was captured must not change what is said of it,
// only how much is said.
#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;
using fakes::operator+;

FrameBuilder tagged_outer() { return FrameBuilder().ethernet().vlan().ipv4({.options = Bytes(8)}); }

std::vector<Bytes> frames() {
  const fakes::Tcp tcp{
      .sequence = 7,
      .acknowledgement = 8,
      .checksum = 9,
      .options = fakes::timestamps(1, 2) + fakes::selective_acknowledgement({{3, 4}, {5, 6}})};
  const Bytes extensions(14);
  return {
      tagged_outer().tcp(tcp).payload(20).trailer(Bytes(4)).build(),
      tagged_outer().tcp({.options = fakes::timestamps(1, 2)}).payload(20).build(),
      tagged_outer().udp().payload(20).build(),
      FrameBuilder()
          .ethernet()
          .ipv6()
          .extension({.protocol = 0})
          .extension({.protocol = 51, .body = extensions})
          .fragment({.more = true})
          .extension({.protocol = 60})
          .tcp(tcp)
          .payload(20)
          .build(),
      tagged_outer()
          .udp({.destination_port = 4'789})
          .vxlan(1)
          .ethernet()
          .ipv4()
          .tcp(tcp)
          .payload(9)
          .build(),
      tagged_outer()
          .udp({.destination_port = 6'081})
          .geneve({.options = Bytes(8)})
          .ipv6()
          .udp()
          .payload(9)
          .build(),
      tagged_outer()
          .gre({.checksum = 1, .key = 2, .sequence = 3})
          .ethernet()
          .ipv4()
          .tcp(tcp)
          .build(),
      tagged_outer().ipv6().ipv4().tcp(tcp).payload(9).build(),
      FrameBuilder().ethernet().mpls(1, false).mpls(2).ipv4().tcp(tcp).payload(9).build(),
      tagged_outer()
          .udp({.destination_port = 4'791})
          .bth({.opcode = 0x06})
          .bytes(Bytes(16))
          .payload(32)
          .bytes(Bytes(4))
          .build(),
  };
}

// What was read of the whole frame and of the cut one agrees, unless the cut one does not have it.
template <class Number>
bool agrees(Number read, Number whole) {
  return read == whole || read == Number{};
}

void expect_agreement(const Packet& packet, const Packet& whole) {
  EXPECT_TRUE(agrees(packet.tcp.sequence, whole.tcp.sequence));
  EXPECT_TRUE(agrees(packet.tcp.acknowledgement, whole.tcp.acknowledgement));
  EXPECT_TRUE(agrees(packet.tcp.checksum, whole.tcp.checksum));
  EXPECT_TRUE(agrees(packet.tcp.timestamp_echo, whole.tcp.timestamp_echo));
  EXPECT_TRUE(agrees(packet.tcp.sack_blocks, whole.tcp.sack_blocks));
  EXPECT_TRUE(agrees(packet.roce.queue_pair, whole.roce.queue_pair));
  if (packet.kind == whole.kind && packet.ends == whole.ends) {
    EXPECT_EQ(packet.payload_bytes, whole.payload_bytes);
    EXPECT_EQ(packet.header_bytes, whole.header_bytes);
  }
}

void expect_within(const Packet& packet, const Bytes& frame, std::size_t captured) {
  EXPECT_LE(packet.captured_payload_bytes, packet.payload_bytes);
  EXPECT_LE(packet.header_bytes + packet.payload_bytes, frame.size());
  if (packet.captured_payload_bytes > 0) {
    EXPECT_LE(packet.payload + packet.captured_payload_bytes, frame.data() + captured);
  }
}

TEST(Cut, AnywhereLosesOnlyWhatIsBehind) {
  for (const Tunnels& tunnels : {Tunnels{}, kAllTunnels}) {
    for (const Bytes& frame : frames()) {
      const Packet whole = decoded(frame, tunnels);
      EXPECT_NE(whole.kind, Kind::Malformed);
      for (std::size_t captured = 0; captured < frame.size(); ++captured) {
        SCOPED_TRACE(captured);
        const Packet packet = decoded(fakes::cut(frame, captured), tunnels);
        EXPECT_EQ(packet.frame_bytes, frame.size());
        expect_within(packet, frame, captured);
        expect_agreement(packet, whole);
      }
    }
  }
}

TEST(Cut, OnTheWireIsNoWorseThanInTheCapture) {
  for (const Bytes& frame : frames()) {
    for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
      SCOPED_TRACE(bytes);
      const Bytes truncated(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes));
      expect_within(decoded(truncated, kAllTunnels), truncated, bytes);
    }
  }
}

}  // namespace
}  // namespace chokepoint::capture::packet
