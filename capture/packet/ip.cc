#include "capture/packet/headers.h"

namespace chokepoint::capture::packet {
namespace {

constexpr int kMaxExtensions = 8;

// Headers between IP's own and the protocol above it begin with
//
//   0             1         2
//   | next header | length  | …
//
// where length counts units of 8 bytes beyond the first 8; of an authentication header, units of 4
// beyond 8.
bool skip(Walk& walk, std::uint32_t bytes, std::uint8_t& protocol) {
  if (bytes > walk.rest()) {
    return false;
  }
  protocol = *walk.here();
  walk.at += bytes;
  return true;
}

bool skip_options(Walk& walk, std::uint8_t& protocol) {
  return walk.has(2) && skip(walk, std::uint32_t{8} * (walk.here()[1] + 1U), protocol);
}

// Linux writes this option first. If another system does not, the frame's length is used.
void read_jumbo(const Walk& walk, std::uint32_t& jumbo_bytes) {
  constexpr std::uint16_t kJumboPayload = 0xc204;  // type and length
  if (walk.has(8) && read16(walk.here() + 2) == kJumboPayload) {
    jumbo_bytes = read32(walk.here() + 4);
  }
}

bool skip_fragment(Walk& walk, std::uint8_t& protocol, Piece& piece) {
  if (!walk.has(8)) {
    return false;
  }
  const std::uint16_t place = read16(walk.here() + 2);
  piece.offset = place & 0xfff8;
  piece.is_last = (place & 1) == 0;
  piece.id = read32(walk.here() + 4);
  piece.begin = walk.at + 8;
  piece.protocol = kFragment;
  return skip(walk, 8, protocol);
}

bool is_options(std::uint8_t protocol) {
  return protocol == kHopByHop || protocol == kRouting || protocol == kDestinationOptions ||
         protocol == kMobility || protocol == kHostIdentity || protocol == kShim6;
}

// False: the header was cut, or reaches beyond the packet.
bool skip_authentication(Walk& walk, std::uint8_t& protocol) {
  return walk.has(2) && skip(walk, std::uint32_t{4} * (walk.here()[1] + 2U), protocol);
}

// Skips all of them, up to a fixed number; `protocol` becomes that of the header behind them. A
// later fragment has no headers behind its fragment header. `jumbo_bytes` is the length that a
// jumbo payload option gives.
bool skip_extensions(Walk& walk, std::uint8_t& protocol, Piece& piece, std::uint32_t& jumbo_bytes) {
  for (int i = 0; i < kMaxExtensions && !piece.is_later(); ++i) {
    bool is_whole = true;
    if (protocol == kHopByHop) {
      read_jumbo(walk, jumbo_bytes);
    }
    if (is_options(protocol)) {
      is_whole = skip_options(walk, protocol);
    } else if (protocol == kFragment) {
      is_whole = skip_fragment(walk, protocol, piece);
    } else if (protocol == kAuthentication) {
      is_whole = skip_authentication(walk, protocol);
    } else {
      return true;
    }
    if (!is_whole) {
      return false;
    }
  }
  return true;
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

constexpr std::uint32_t kJumboOptionBytes = 8;  // with the hop-by-hop header around it

void take_fields(const std::uint8_t* header, Packet& packet) {
  packet.ends.source = address_at(header + 8);
  packet.ends.destination = address_at(header + 24);
  packet.ends.protocol = header[6];
  packet.ends.is_ipv6 = true;
  packet.congestion_bits = (header[1] >> 4) & 3;
  packet.hop_limit = header[7];
  packet.has_ip_id = false;
  packet.ip_id = 0;
}

}  // namespace

bool read_ipv4(Walk& walk, Packet& packet, Piece& piece) {
  if (!walk.has(kIpv4HeaderBytes)) {
    return false;
  }
  const std::uint8_t* header = walk.here();
  const std::uint32_t header_bytes = std::uint32_t{4} * (header[0] & 15);
  const std::uint32_t total = read16(header + 2);
  if (header[0] >> 4 != 4 || header_bytes < kIpv4HeaderBytes) {
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

bool read_ipv6(Walk& walk, Packet& packet, Piece& piece) {
  if (!walk.has(kIpv6HeaderBytes)) {
    return false;
  }
  const std::uint8_t* header = walk.here();
  if (header[0] >> 4 != 6) {
    return false;
  }
  take_fields(header, packet);
  const std::uint32_t payload = read16(header + 4);
  const bool is_length_given = payload != 0 || packet.ends.protocol == kNothing;
  if (is_length_given && !walk.limit(kIpv6HeaderBytes + payload)) {
    return false;
  }
  walk.at += kIpv6HeaderBytes;
  const std::uint32_t behind_header = walk.at;
  std::uint32_t jumbo = 0;
  if (!skip_extensions(walk, packet.ends.protocol, piece, jumbo)) {
    return false;
  }
  if (is_length_given || jumbo == 0) {
    return true;
  }
  // The kernel removes the option before it cuts a super-frame.
  walk.made_up += kJumboOptionBytes;
  const std::uint32_t skipped = walk.at - behind_header;
  return jumbo >= skipped && walk.limit(jumbo - skipped);
}

}  // namespace chokepoint::capture::packet
