// From the first byte of a frame to its IP header: Ethernet, VLAN and QinQ tags, Linux cooked v1
// and v2, BSD loopback, MPLS labels. Pure functions.
#pragma once

#include <cstdint>

#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

enum class Network : std::uint8_t {
  Ipv4,
  Ipv6,
  Other,
  Cut,  // the capture ends before it could be told
};

// The walk is left at what was found. `vlan` is set where there is a tag.
Network skip_link(Walk& walk, LinkType link_type, std::uint16_t& vlan);

// An Ethernet frame at the walk's place, in a tunnel or not.
Network skip_ethernet(Walk& walk, std::uint16_t& vlan);

// What an EtherType announces; tags and labels are skipped.
Network skip_to_network(Walk& walk, std::uint16_t ether_type, std::uint16_t& vlan);

}  // namespace chokepoint::capture::packet
