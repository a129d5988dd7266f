// One frame as a tap handed it over: bytes that somebody else owns, and what is known about them
// before a single one is read. Made by capture/source, read by the decoder. A value; the bytes
// live as long as the batch they came in.
#pragma once

#include <cstdint>

namespace chokepoint::capture::packet {

// The numbers of the pcap file format (LINKTYPE_…).
enum class LinkType : std::uint16_t {
  Null = 0,  // BSD loopback, address family in the writer's byte order
  Ethernet = 1,
  Raw = 101,   // IPv4 or IPv6, told by the first four bits
  Loop = 108,  // OpenBSD loopback, address family in network order
  LinuxCooked = 113,
  Ipv4 = 228,
  Ipv6 = 229,
  LinuxCooked2 = 276,
};

// A cooked capture has a link header of its own in place of Ethernet's 14 bytes: what it is longer
// by was on no wire.
inline std::uint32_t made_up_bytes(LinkType link_type) {
  return link_type == LinkType::LinuxCooked ? 2 : link_type == LinkType::LinuxCooked2 ? 6 : 0;
}

struct Frame {
  std::int64_t time_ns = 0;  // since 1970
  const std::uint8_t* data = nullptr;
  std::uint32_t captured_bytes = 0;
  std::uint32_t frame_bytes = 0;  // before it was cut to the snapshot length
  std::uint32_t interface = 0;    // index into Source::interfaces()
  LinkType link_type = LinkType::Ethernet;
};

}  // namespace chokepoint::capture::packet
