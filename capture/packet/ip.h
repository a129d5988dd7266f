// IPv4 with options, IPv6 with its extension headers, up to the header of the protocol above. The
// length that the header gives becomes the walk's end, so Ethernet's padding and a frame check
// sequence are left behind. A length of 0 is that of a super-frame: the frame's own counts then, or
// a jumbo payload option's. Pure functions.
#pragma once

#include <cstdint>

#include "capture/packet/packet.h"
#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

// Which part of a packet this is, where it was sent in fragments.
struct Piece {
  std::uint32_t id = 0;
  std::uint32_t offset = 0;  // in bytes
  std::uint32_t begin = 0;   // where in the frame the piece begins
  bool is_last = true;       // of the fragments, or the only one
  // Tells fragments of one id apart: IPv4's protocol; the same for all of IPv6, where the id
  // suffices.
  std::uint8_t protocol = 0;

  bool is_fragment() const { return offset != 0 || !is_last; }
  bool is_later() const { return offset != 0; }
};

// Fill the packet's addresses, protocol and what else the header says. False: it contradicts
// itself, or was cut.
bool read_ipv4(Walk& walk, Packet& packet, Piece& piece);
bool read_ipv6(Walk& walk, Packet& packet, Piece& piece);

}  // namespace chokepoint::capture::packet
