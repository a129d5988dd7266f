#include "capture/packet/bytes.h"
#include "capture/packet/extension.h"
#include "capture/packet/ip.h"
#include "capture/packet/protocols.h"

namespace chokepoint::capture::packet {
namespace {

constexpr std::uint32_t kLeastHeader = 20;
constexpr std::uint16_t kMoreFragments = 0x2000;
constexpr std::uint16_t kFragmentOffset = 0x1fff;

// In memory: ten zero bytes, two of 0xff, the address.
Address mapped(const std::uint8_t* at) {
  std::uint32_t address = 0;
  std::memcpy(&address, at, sizeof address);
  return {.words = {0, std::uint64_t{address} << 32 | 0xffff'0000U}};
}

void take_fields(const std::uint8_t* header, Packet& packet, Piece& piece) {
  packet.ends.source = mapped(header + 12);
  packet.ends.destination = mapped(header + 16);
  packet.ends.protocol = header[9];
  packet.ends.is_ipv6 = false;
  packet.congestion_bits = header[1] & 3;
  packet.hop_limit = header[8];
  packet.has_ip_id = true;
  packet.ip_id = read16(header + 4);
  const std::uint16_t fragment = read16(header + 6);
  piece.id = packet.ip_id;
  piece.protocol = header[9];
  piece.offset = std::uint32_t{8} * (fragment & kFragmentOffset);
  piece.is_last = (fragment & kMoreFragments) == 0;
}

}  // namespace

bool read_ipv4(Walk& walk, Packet& packet, Piece& piece) {
  if (!walk.has(kLeastHeader)) {
    return false;
  }
  const std::uint8_t* header = walk.here();
  const std::uint32_t header_bytes = std::uint32_t{4} * (header[0] & 15);
  const std::uint32_t total = read16(header + 2);
  if (header[0] >> 4 != 4 || header_bytes < kLeastHeader) {
    return false;
  }
  take_fields(header, packet, piece);
  if (total != 0 && (total < header_bytes || !walk.limit(total))) {
    return false;
  }
  if (header_bytes > walk.rest()) {
    return false;
  }
  walk.at += header_bytes;
  piece.begin = walk.at;
  if (packet.ends.protocol == kAuthentication && !piece.is_later()) {
    return skip_authentication(walk, packet.ends.protocol);
  }
  return true;
}

}  // namespace chokepoint::capture::packet
