#include "capture/packet/link.h"

#include "capture/packet/bytes.h"

namespace chokepoint::capture::packet {
namespace {

constexpr int kMostTags = 4;
constexpr int kMostLabels = 8;

enum EtherType : std::uint16_t {
  kIpv4 = 0x0800,
  kIpv6 = 0x86dd,
  kVlan = 0x8100,
  kProviderBridge = 0x88a8,
  kOldQinQ = 0x9100,
  kMpls = 0x8847,
  kMplsMulticast = 0x8848,
};

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
  for (int i = 0; i < kMostLabels; ++i) {
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

// A header of fixed size with the EtherType at a fixed place.
Network skip_fixed(Walk& walk, std::uint32_t bytes, std::uint32_t type_at, std::uint16_t& vlan) {
  if (!walk.has(bytes)) {
    return Network::Cut;
  }
  const std::uint16_t type = read16(walk.here() + type_at);
  walk.at += bytes;
  return skip_to_network(walk, type, vlan);
}

// The address family, in whichever byte order; that of IPv6 differs between systems.
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

}  // namespace

Network skip_to_network(Walk& walk, std::uint16_t ether_type, std::uint16_t& vlan) {
  for (int tags = 0; is_tag(ether_type) && tags < kMostTags; ++tags) {
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

Network skip_ethernet(Walk& walk, std::uint16_t& vlan) { return skip_fixed(walk, 14, 12, vlan); }

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

}  // namespace chokepoint::capture::packet
