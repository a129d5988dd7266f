// What some packets carry: other packets.
//
//   VXLAN   UDP 4789, 8472   | flags | reserved | network 24 | reserved |          Ethernet
//   Geneve  UDP 6081         | version, options' words | flags | type | network 24 | … | options
//   GRE     IP 47            | C K S version | type | checksum? | key? | sequence? |
//   IP      IP 4, 41         nothing between
//
// Pure functions.
#pragma once

#include <cstdint>

#include "capture/packet/link.h"
#include "capture/packet/packet.h"
#include "capture/packet/tunnels.h"
#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

// Where `outer` is a tunnel to be looked into, leaves the walk at the network header inside and
// sets `tunnel` to the tunnel's number if it has one. Other: nothing to be seen inside.
Network enter_tunnel(Walk& walk, const Packet& outer, const Tunnels& tunnels,
                     std::uint32_t& tunnel);

}  // namespace chokepoint::capture::packet
