#include "capture/source/ring_size.h"

#include <algorithm>

namespace chokepoint::capture::source {
namespace {

constexpr std::uint64_t kUnknownSpeedMbps = 10'000;
constexpr std::uint64_t kUnknownMtu = 1500;
// Preamble, Ethernet header, checksum and gap.
constexpr std::uint64_t kWireOverhead = 38;
// What TPACKET_V3 puts before each packet, with its alignment.
constexpr std::uint64_t kRingOverhead = 96;
constexpr std::uint64_t kDirections = 2;
constexpr std::uint64_t kAwayMs = 100;

}  // namespace

std::uint64_t ring_size(const InterfaceFacts& interface, std::uint32_t snapshot_bytes) {
  const std::uint64_t mbps =
      interface.speed_mbps ? static_cast<std::uint64_t>(*interface.speed_mbps) : kUnknownSpeedMbps;
  const std::uint64_t frame = (interface.mtu > 0 ? interface.mtu : kUnknownMtu) + kWireOverhead;
  const std::uint64_t bytes_per_ms = mbps * 1000 / 8;
  const std::uint64_t packets = kDirections * kAwayMs * bytes_per_ms / frame;
  const std::uint64_t stored = std::min<std::uint64_t>(snapshot_bytes, frame) + kRingOverhead;
  const std::uint64_t bytes = std::clamp(packets * stored, kSmallestRing, kLargestRing);
  return (bytes + kRingBlockBytes - 1) / kRingBlockBytes * kRingBlockBytes;
}

}  // namespace chokepoint::capture::source
