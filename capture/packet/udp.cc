#include "capture/packet/udp.h"

#include "capture/packet/bytes.h"

namespace chokepoint::capture::packet {

Kind read_udp(Walk& walk, Packet& packet) {
  constexpr std::uint32_t kUdpPortsBytes = 4;
  constexpr std::uint32_t kToLength = 6;
  if (!walk.has(kUdpPortsBytes) || walk.rest() < kUdpHeader) {
    return Kind::Malformed;
  }
  packet.ends.source_port = read16(walk.here());
  packet.ends.destination_port = read16(walk.here() + 2);
  const std::uint32_t length = walk.has(kToLength) ? read16(walk.here() + 4) : 0;
  if (length != 0 && (length < kUdpHeader || !walk.limit(length))) {
    return Kind::Malformed;
  }
  walk.at += kUdpHeader;
  return Kind::Udp;
}

}  // namespace chokepoint::capture::packet
