// One frame as a tap delivered it: its bytes, which the source's batch owns, and what is known
// about them before they are decoded. Made by capture/source, read by the decoder. A value; the
// bytes live as long as their batch.
#pragma once

#include <cstdint>

namespace chokepoint::capture::packet {

// The numbers of the pcap file format (LINKTYPE_…).
enum class LinkType : std::uint16_t {
  Null = 0,  // BSD loopback, address family in the writer's byte order
  Ethernet = 1,
  Raw = 101,   // IPv4 or IPv6: the first four bits say which
  Loop = 108,  // OpenBSD loopback, address family in network order
  LinuxCooked = 113,
  Ipv4 = 228,
  Ipv6 = 229,
  LinuxCooked2 = 276,
};

// The type for a number in a file or from libpcap: some writers use their own system's number for
// raw IP. The upper bits say whether frames end with a checksum; decoders ignore it.
constexpr LinkType link_type_of(std::uint32_t number) {
  constexpr std::uint32_t kRawOfBsd = 12;
  constexpr std::uint32_t kRawOfOpenBsd = 14;
  const std::uint32_t link_type = number & 0xffff;
  return link_type == kRawOfBsd || link_type == kRawOfOpenBsd ? LinkType::Raw
                                                              : static_cast<LinkType>(link_type);
}

// A cooked capture has a link header of its own in place of Ethernet's 14 bytes. The bytes that it
// is longer by were never on the wire.
inline std::uint32_t made_up_bytes(LinkType link_type) {
  return link_type == LinkType::LinuxCooked ? 2 : link_type == LinkType::LinuxCooked2 ? 6 : 0;
}

struct Frame {
  std::int64_t time_ns = 0;  // since 1970
  const std::uint8_t* data = nullptr;
  std::uint32_t captured_bytes = 0;
  std::uint32_t frame_bytes = 0;  // before the cut to the snapshot length
  std::uint32_t interface = 0;    // index into Source::interfaces()
  LinkType link_type = LinkType::Ethernet;
};

}  // namespace chokepoint::capture::packet
