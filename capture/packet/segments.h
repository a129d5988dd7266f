// Super-frames: with GSO a sender's tap sees one frame that the NIC will cut into many, with GRO a
// receiver's tap sees many merged into one. What the wire carried is told from the payload of one
// segment: headers are repeated for each. Pure functions.
#pragma once

#include <cstdint>

#include "capture/packet/packet.h"

namespace chokepoint::capture::packet {

struct OnTheWire {
  std::uint32_t segments = 1;
  std::uint64_t bytes = 0;  // Ethernet header included, no FCS
};

// `segment_payload` is the most that one segment carries (MSS less options); 0 where it is not
// known: then the frame is taken as it is.
inline OnTheWire on_the_wire(const Packet& packet, std::uint32_t segment_payload) {
  if (segment_payload == 0 || packet.payload_bytes <= segment_payload) {
    return {.segments = 1, .bytes = packet.frame_bytes};
  }
  const std::uint32_t segments = (packet.payload_bytes + segment_payload - 1) / segment_payload;
  return {.segments = segments,
          .bytes = packet.payload_bytes + std::uint64_t{packet.header_bytes} * segments};
}

}  // namespace chokepoint::capture::packet
