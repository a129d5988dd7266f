#include "capture/packet/decoder.h"
#include "capture/packet/headers.h"

namespace chokepoint::capture::packet {
namespace {

constexpr int kMaxTags = 4;
constexpr int kMaxLabels = 8;

bool is_tag(std::uint16_t type) {
  return type == kVlan || type == kProviderBridge || type == kOldQinQ;
}

Network by_version(const Walk& walk) {
  if (!walk.has(1)) {
    return Network::Cut;
  }
  const int version = *walk.here() >> 4;
  return version == 4 ? Network::Ipv4 : version == 6 ? Network::Ipv6 : Network::Other;
}

Network skip_labels(Walk& walk) {
  constexpr std::uint8_t kBottomOfStack = 0x01;
  for (int i = 0; i < kMaxLabels; ++i) {
    if (!walk.has(4)) {
      return Network::Cut;
    }
    const bool is_last = (walk.here()[2] & kBottomOfStack) != 0;
    walk.at += 4;
    if (is_last) {
      return by_version(walk);
    }
  }
  return Network::Other;
}

// Moves the walk behind tags and labels, to what the EtherType announces.
Network skip_to_network(Walk& walk, std::uint16_t ether_type, std::uint16_t& vlan) {
  for (int tags = 0; is_tag(ether_type) && tags < kMaxTags; ++tags) {
    if (!walk.has(4)) {
      return Network::Cut;
    }
    if (tags == 0) {
      vlan = read16(walk.here()) & 0x0fff;
    }
    ether_type = read16(walk.here() + 2);
    walk.at += 4;
  }
  switch (ether_type) {
    case kIpv4:
      return Network::Ipv4;
    case kIpv6:
      return Network::Ipv6;
    case kMpls:
    case kMplsMulticast:
      return skip_labels(walk);
    default:
      return Network::Other;
  }
}

// A header of fixed size with the EtherType at a fixed place.
Network skip_fixed(Walk& walk, std::uint32_t bytes, std::uint32_t type_at, std::uint16_t& vlan) {
  if (!walk.has(bytes)) {
    return Network::Cut;
  }
  const std::uint16_t type = read16(walk.here() + type_at);
  walk.at += bytes;
  return skip_to_network(walk, type, vlan);
}

// The address family, in either byte order; IPv6's number differs between systems.
Network skip_loopback(Walk& walk) {
  if (!walk.has(4)) {
    return Network::Cut;
  }
  std::uint32_t family = read32(walk.here());
  walk.at += 4;
  if (family > 0xffff) {
    family = std::byteswap(family);
  }
  switch (family) {
    case 2:
      return Network::Ipv4;
    case 10:  // Linux
    case 24:  // NetBSD, OpenBSD
    case 28:  // FreeBSD
    case 30:  // Darwin
      return Network::Ipv6;
    default:
      return Network::Other;
  }
}

// An Ethernet frame at the walk's place, in a tunnel or not.
Network skip_ethernet(Walk& walk, std::uint16_t& vlan) {
  return skip_fixed(walk, kEthernetBytes, kEthernetBytes - 2, vlan);
}

constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::uint16_t kOldVxlanPort = 8472;
constexpr std::uint16_t kGenevePort = 6081;
constexpr std::uint16_t kBridged = 0x6558;  // EtherType of Ethernet in a tunnel

// Tags inside a tunnel do not become the packet's VLAN.
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

Network skip_link(Walk& walk, LinkType link_type, std::uint16_t& vlan) {
  switch (link_type) {
    case LinkType::Ethernet:
      return skip_ethernet(walk, vlan);
    case LinkType::LinuxCooked:
      return skip_fixed(walk, 16, 14, vlan);
    case LinkType::LinuxCooked2:
      return skip_fixed(walk, 20, 0, vlan);
    case LinkType::Null:
    case LinkType::Loop:
      return skip_loopback(walk);
    case LinkType::Raw:
      return by_version(walk);
    case LinkType::Ipv4:
      return Network::Ipv4;
    case LinkType::Ipv6:
      return Network::Ipv6;
  }
  return Network::Other;
}

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
