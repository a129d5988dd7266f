#include "capture/packet/tunnel.h"

#include "capture/packet/bytes.h"
#include "capture/packet/protocols.h"

namespace chokepoint::capture::packet {
namespace {

constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::uint16_t kOldVxlanPort = 8472;
constexpr std::uint16_t kGenevePort = 6081;
constexpr std::uint16_t kBridged = 0x6558;  // EtherType of Ethernet in a tunnel

// Tags inside a tunnel are the tunnel's own affair.
Network inside_type(Walk& walk, std::uint16_t type) {
  std::uint16_t vlan = 0;
  return type == kBridged ? skip_ethernet(walk, vlan) : skip_to_network(walk, type, vlan);
}

Network enter_vxlan(Walk& walk, std::uint32_t& tunnel) {
  constexpr std::uint8_t kHasNetwork = 0x08;
  if (!walk.has(8) || (walk.here()[0] & kHasNetwork) == 0) {
    return Network::Other;
  }
  tunnel = read24(walk.here() + 4);
  walk.at += 8;
  return inside_type(walk, kBridged);
}

Network enter_geneve(Walk& walk, std::uint32_t& tunnel) {
  if (!walk.has(8) || walk.here()[0] >> 6 != 0) {
    return Network::Other;
  }
  const std::uint8_t* header = walk.here();
  tunnel = read24(header + 4);
  walk.at += 8 + std::uint32_t{4} * (header[0] & 63);
  return inside_type(walk, read16(header + 2));
}

Network enter_gre(Walk& walk, std::uint32_t& tunnel) {
  constexpr std::uint16_t kChecksum = 0x8000;
  constexpr std::uint16_t kKey = 0x2000;
  constexpr std::uint16_t kSequence = 0x1000;
  constexpr std::uint16_t kRoutingOrVersion = 0x4007;
  if (!walk.has(4)) {
    return Network::Other;
  }
  const std::uint16_t flags = read16(walk.here());
  const std::uint16_t type = read16(walk.here() + 2);
  if ((flags & kRoutingOrVersion) != 0) {
    return Network::Other;
  }
  walk.at += (flags & kChecksum) != 0 ? 8 : 4;
  if ((flags & kKey) != 0) {
    if (!walk.has(4)) {
      return Network::Other;
    }
    tunnel = read32(walk.here());
    walk.at += 4;
  }
  walk.at += (flags & kSequence) != 0 ? 4 : 0;
  return inside_type(walk, type);
}

}  // namespace

Network enter_tunnel(Walk& walk, const Packet& outer, const Tunnels& tunnels,
                     std::uint32_t& tunnel) {
  if (outer.is_later_fragment) {
    return Network::Other;
  }
  const std::uint16_t port = outer.kind == Kind::Udp ? outer.ends.destination_port : 0;
  if (tunnels.vxlan && (port == kVxlanPort || port == kOldVxlanPort)) {
    return enter_vxlan(walk, tunnel);
  }
  if (tunnels.geneve && port == kGenevePort) {
    return enter_geneve(walk, tunnel);
  }
  if (outer.kind != Kind::OtherIp) {
    return Network::Other;
  }
  if (tunnels.gre && outer.ends.protocol == kGreProtocol) {
    return enter_gre(walk, tunnel);
  }
  if (tunnels.ip_in_ip && outer.ends.protocol == kIpv4InIp) {
    return Network::Ipv4;
  }
  return tunnels.ip_in_ip && outer.ends.protocol == kIpv6InIp ? Network::Ipv6 : Network::Other;
}

}  // namespace chokepoint::capture::packet
