// Ordinary frames are read in one step, and every other header by header: both must say the same.
// The same bytes without their Ethernet header are never ordinary, so they are the measure.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;

constexpr std::uint32_t kLinkBytes = 14;

std::vector<Bytes> ordinary_frames() {
  const auto built = [](FrameBuilder ip, const Bytes& options, std::size_t payload) {
    return ip.tcp({.sequence = 7, .acknowledgement = 8, .checksum = 9, .options = options})
        .payload(payload)
        .trailer(Bytes(6))
        .build();
  };
  const FrameBuilder ipv4 = FrameBuilder().ethernet().ipv4();
  const FrameBuilder ipv6 = FrameBuilder().ethernet().ipv6();
  return {built(ipv4, {}, 0), built(ipv4, fakes::timestamps(1, 2), 20), built(ipv6, {}, 1),
          built(ipv6, fakes::timestamps(1, 2), 30)};
}

auto fields(const Packet& packet, std::uint32_t link_bytes) {
  const Tcp& tcp = packet.tcp;
  const std::uint32_t headers = packet.header_bytes;
  return std::tuple(
      packet.kind, packet.ends, packet.frame_bytes - link_bytes,
      headers == 0 ? 0 : headers - link_bytes, packet.payload_bytes, packet.captured_payload_bytes,
      packet.payload, packet.congestion_bits, packet.hop_limit, packet.is_later_fragment,
      packet.has_ip_id, packet.ip_id, packet.vlan,
      std::tuple(tcp.sequence, tcp.acknowledgement, tcp.timestamp, tcp.timestamp_echo, tcp.window,
                 tcp.checksum, tcp.mss, tcp.window_scale, tcp.flags, tcp.options, tcp.sack_blocks));
}

void expect_same(const Bytes& bytes, std::uint32_t captured, LinkType bare_type) {
  const auto whole = static_cast<std::uint32_t>(bytes.size());
  const Packet packet =
      decoded(Frame{.data = bytes.data(), .captured_bytes = captured, .frame_bytes = whole});
  const Packet bare = decoded(Frame{.data = bytes.data() + kLinkBytes,
                                    .captured_bytes = captured - kLinkBytes,
                                    .frame_bytes = whole - kLinkBytes,
                                    .link_type = bare_type});
  EXPECT_EQ(fields(packet, kLinkBytes), fields(bare, 0));
}

LinkType bare_type(const Bytes& bytes) {
  return bytes[kLinkBytes] >> 4 == 4 ? LinkType::Ipv4 : LinkType::Ipv6;
}

TEST(OrdinaryFrame, IsReadAsItsHeadersAre) {
  for (const Bytes& bytes : ordinary_frames()) {
    EXPECT_EQ(decoded(bytes).kind, Kind::Tcp);
    for (std::uint32_t captured = kLinkBytes; captured <= bytes.size(); ++captured) {
      expect_same(bytes, captured, bare_type(bytes));
    }
  }
}

TEST(OrdinaryFrame, WithOneBitChangedIsReadAsItsHeadersAre) {
  for (const Bytes& bytes : ordinary_frames()) {
    for (std::size_t bit = std::size_t{8} * kLinkBytes; bit < 8 * bytes.size(); ++bit) {
      Bytes changed = bytes;
      changed[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
      expect_same(changed, static_cast<std::uint32_t>(changed.size()), bare_type(bytes));
      expect_same(changed, 60, bare_type(bytes));
    }
  }
}

}  // namespace
}  // namespace chokepoint::capture::packet
