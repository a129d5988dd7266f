// Sizes of the headers below TCP and UDP, and of the packets that hold them, in bytes. Constants.
#pragma once

#include <cstddef>

#include "base/net/address.h"

namespace chokepoint::net {

inline constexpr int kEthernetHeaderBytes = 14;
inline constexpr int kIpv4HeaderBytes = 20;  // without options, RFC 791
inline constexpr int kIpv6HeaderBytes = 40;  // RFC 8200
inline constexpr int kUdpHeaderBytes = 8;    // RFC 768

inline constexpr int kEthernetMtu = 1500;        // IEEE 802.3
inline constexpr int kMinIpv6Mtu = 1280;         // RFC 8200, section 5
inline constexpr int kMaxIpPacketBytes = 65535;  // of IPv4, RFC 791

// The largest payload of a datagram over IPv4.
inline constexpr std::size_t kMaxUdpPayloadBytes =
    kMaxIpPacketBytes - kIpv4HeaderBytes - kUdpHeaderBytes;

// What UDP and IP add to a datagram's payload.
constexpr int udp_overhead_bytes(Family family) {
  return kUdpHeaderBytes + (family == Family::Ipv4 ? kIpv4HeaderBytes : kIpv6HeaderBytes);
}

}  // namespace chokepoint::net
