#include "capture/packet/extension.h"

#include "capture/packet/bytes.h"
#include "capture/packet/protocols.h"

namespace chokepoint::capture::packet {
namespace {

constexpr int kMostExtensions = 8;

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

// The option comes first where Linux writes it; elsewhere the frame's length serves as well.
void look_for_jumbo(const Walk& walk, std::uint32_t& jumbo_bytes) {
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

}  // namespace

bool skip_authentication(Walk& walk, std::uint8_t& protocol) {
  return walk.has(2) && skip(walk, std::uint32_t{4} * (walk.here()[1] + 2U), protocol);
}

bool skip_extensions(Walk& walk, std::uint8_t& protocol, Piece& piece, std::uint32_t& jumbo_bytes) {
  for (int i = 0; i < kMostExtensions && !piece.is_later(); ++i) {
    bool is_whole = true;
    if (protocol == kHopByHop) {
      look_for_jumbo(walk, jumbo_bytes);
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

}  // namespace chokepoint::capture::packet
