#include "capture/packet/bytes.h"
#include "capture/packet/extension.h"
#include "capture/packet/ip.h"
#include "capture/packet/protocols.h"

namespace chokepoint::capture::packet {
namespace {

constexpr std::uint32_t kHeader = 40;
constexpr std::uint32_t kJumboOption = 8;  // with the hop-by-hop header around it

Address address_at(const std::uint8_t* at) {
  Address address;
  std::memcpy(address.words.data(), at, sizeof address.words);
  return address;
}

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

bool read_ipv6(Walk& walk, Packet& packet, Piece& piece) {
  if (!walk.has(kHeader)) {
    return false;
  }
  const std::uint8_t* header = walk.here();
  if (header[0] >> 4 != 6) {
    return false;
  }
  take_fields(header, packet);
  const std::uint32_t payload = read16(header + 4);
  const bool is_told = payload != 0 || packet.ends.protocol == kNothing;
  if (is_told && !walk.limit(kHeader + payload)) {
    return false;
  }
  walk.at += kHeader;
  const std::uint32_t behind_header = walk.at;
  std::uint32_t jumbo = 0;
  if (!skip_extensions(walk, packet.ends.protocol, piece, jumbo)) {
    return false;
  }
  if (is_told || jumbo == 0) {
    return true;
  }
  // The kernel takes the option out before a super-frame is cut.
  walk.made_up += kJumboOption;
  const std::uint32_t skipped = walk.at - behind_header;
  return jumbo >= skipped && walk.limit(jumbo - skipped);
}

}  // namespace chokepoint::capture::packet
