// UDP. Its length of 0 is a super-frame's: the IP packet's counts then. Pure functions.
#pragma once

#include "capture/packet/packet.h"
#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

inline constexpr std::uint32_t kUdpHeader = 8;

// The walk is left at the payload, its end at the payload's. Malformed: cut before the ports or
// contradicting itself.
Kind read_udp(Walk& walk, Packet& packet);

}  // namespace chokepoint::capture::packet
