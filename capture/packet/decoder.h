// Frames to packets. Reads no byte beyond what was captured, allocates nothing after it was made,
// and takes the same bounded time for any bytes. Its only memory is a small table of first
// fragments, so that later ones find their ports. One thread each.
#pragma once

#include "capture/packet/fragments.h"
#include "capture/packet/frame.h"
#include "capture/packet/ip.h"
#include "capture/packet/link.h"
#include "capture/packet/packet.h"
#include "capture/packet/tunnels.h"
#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

class Decoder {
 public:
  explicit Decoder(Tunnels tunnels = {}) : tunnels_(tunnels) {}

  // Every field of `packet` is set anew, but for SACK blocks behind those that are counted, and for
  // `roce` of other kinds. Of a tunnel whose inside is no IP packet, or was cut before its ports,
  // the outer packet is seen.
  void decode(const Frame& frame, Packet& packet);

 private:
  Kind see(Walk& walk, Network network, Packet& packet);
  Kind see_first_piece(Walk& walk, const Piece& piece, Packet& packet);
  Kind see_later_piece(const Walk& walk, const Piece& piece, Packet& packet);
  void look_inside(Walk walk, Packet& packet);

  Tunnels tunnels_;
  Fragments fragments_;
};

}  // namespace chokepoint::capture::packet
