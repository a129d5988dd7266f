// Numbers of the protocol and next-header fields of IP that the decoder knows.
#pragma once

#include <cstdint>

namespace chokepoint::capture::packet {

enum Protocol : std::uint8_t {
  kHopByHop = 0,
  kIpv4InIp = 4,
  kTcpProtocol = 6,
  kUdpProtocol = 17,
  kIpv6InIp = 41,
  kRouting = 43,
  kFragment = 44,
  kGreProtocol = 47,
  kAuthentication = 51,
  kNothing = 59,
  kDestinationOptions = 60,
  kMobility = 135,
  kHostIdentity = 139,
  kShim6 = 140,
};

}  // namespace chokepoint::capture::packet
