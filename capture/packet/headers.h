// The headers of a frame, walked through from the link inwards:
//
//   frame ─ skip_link ─▶ IP header ─ read_ipv4, read_ipv6 ─▶ transport header
//     ─ read_tcp, read_udp, read_roce ─▶ payload
//     ─ enter_tunnel ─▶ IP header inside the tunnel
//
// The most frequent frames do not get here: ordinary.cc reads them in one step. Implemented by
// link.cc, ip.cc and transport.cc, called by the decoder. Pure functions: they read no byte beyond
// what was captured, and move the walk.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "capture/packet/frame.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::packet {

struct Tunnels;

// Numbers in network byte order at any address. The caller has checked that the bytes are captured.
static_assert(std::endian::native == std::endian::little);

inline std::uint16_t read16(const std::uint8_t* at) {
  std::uint16_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::byteswap(value);
}

inline std::uint32_t read32(const std::uint8_t* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::byteswap(value);
}

inline std::uint32_t read24(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8 | at[2];
}

// Values of the protocol field (IPv4) and of the next-header field (IPv6).
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

// How far a frame has been read. It points into bytes that the frame's owner keeps.
//
//   data          at                captured            end
//   | read        | still to read   | not captured      | padding, FCS
//
// `at` may lie behind `captured`: then a header's length is known, but the header was cut.
struct Walk {
  const std::uint8_t* data = nullptr;
  std::uint32_t at = 0;
  std::uint32_t captured = 0;  // at most `end`
  std::uint32_t end = 0;       // of the innermost packet whose length is known
  std::uint32_t made_up = 0;   // of the bytes before `at`: added by the kernel, never on the wire
  bool is_piece = false;       // inside a first fragment: lengths may exceed this frame

  explicit Walk(const Frame& frame)
      : data(frame.data),
        captured(std::min(frame.captured_bytes, frame.frame_bytes)),
        end(frame.frame_bytes) {}

  const std::uint8_t* here() const { return data + at; }
  bool has(std::uint32_t bytes) const { return std::uint64_t{at} + bytes <= captured; }
  // Bytes of all headers from the link to here, as on the wire.
  std::uint32_t headers() const { return at - made_up; }
  // Bytes of the packet from here on, captured or not.
  std::uint32_t rest() const { return at < end ? end - at : 0; }
  std::uint32_t captured_rest() const { return at < captured ? captured - at : 0; }

  // The packet ends `bytes` from here. False if that contradicts what is known.
  bool limit(std::uint32_t bytes) {
    if (bytes > rest()) {
      return is_piece;
    }
    end = at + bytes;
    captured = std::min(captured, end);
    return true;
  }
};

// ---- Link and tunnel (link.cc)

enum EtherType : std::uint16_t {
  kIpv4 = 0x0800,
  kIpv6 = 0x86dd,
  kVlan = 0x8100,
  kProviderBridge = 0x88a8,
  kOldQinQ = 0x9100,
  kMpls = 0x8847,
  kMplsMulticast = 0x8848,
};

inline constexpr std::uint32_t kEthernetBytes = 14;  // the EtherType is the last two

enum class Network : std::uint8_t {
  Ipv4,
  Ipv6,
  Other,
  Cut,  // the capture ends before the header that would say it
};

// From the first byte of a frame to its IP header: Ethernet, VLAN and QinQ tags, Linux cooked v1
// and v2, BSD loopback, MPLS labels. `vlan` is set if there is a tag.
Network skip_link(Walk& walk, LinkType link_type, std::uint16_t& vlan);

// If `outer` is a tunnel that `tunnels` enables: moves the walk to the IP header inside, and sets
// `tunnel` to the tunnel's number, if it has one. Other: the content cannot be read.
//
//   VXLAN   UDP 4789, 8472   | flags | reserved | network 24 | reserved |          Ethernet
//   Geneve  UDP 6081         | version, options' words | flags | type | network 24 | … | options
//   GRE     IP 47            | C K S version | type | checksum? | key? | sequence? |
//   IP      IP 4, 41         nothing between
Network enter_tunnel(Walk& walk, const Packet& outer, const Tunnels& tunnels,
                     std::uint32_t& tunnel);

// ---- IP (ip.cc)

inline constexpr std::uint32_t kIpv4HeaderBytes = 20;  // without options
inline constexpr std::uint32_t kIpv6HeaderBytes = 40;  // without extension headers
inline constexpr std::uint16_t kMoreFragments = 0x2000;
inline constexpr std::uint16_t kFragmentOffset = 0x1fff;

// As ::ffff:a.b.c.d: ten zero bytes, two of 0xff, the address.
inline Address mapped(const std::uint8_t* at) {
  std::uint32_t address = 0;
  std::memcpy(&address, at, sizeof address);
  return {.words = {0, std::uint64_t{address} << 32 | 0xffff'0000U}};
}

inline Address address_at(const std::uint8_t* at) {
  Address address;
  std::memcpy(address.words.data(), at, sizeof address.words);
  return address;
}

// Which part of a packet this is, if it was sent in fragments.
struct Piece {
  std::uint32_t id = 0;
  std::uint32_t offset = 0;   // in bytes
  std::uint32_t begin = 0;    // where in the frame the piece begins
  bool is_last = true;        // of the fragments, or the only one
  std::uint8_t protocol = 0;  // IPv4's, part of the fragment's identity; one constant for all IPv6

  bool is_fragment() const { return offset != 0 || !is_last; }
  bool is_later() const { return offset != 0; }
};

// IPv4 with options, IPv6 with its extension headers. They fill the packet's addresses, protocol
// and the other fields of the header. The header's length becomes the walk's end, so Ethernet's
// padding and a frame check sequence are left out. A length of 0 is a super-frame's: then the
// frame's own length is used, or that of a jumbo payload option. False: the header contradicts
// itself, or was cut.
bool read_ipv4(Walk& walk, Packet& packet, Piece& piece);
bool read_ipv6(Walk& walk, Packet& packet, Piece& piece);

// ---- Transport (transport.cc)

inline constexpr std::uint16_t kRocePort = 4791;
inline constexpr std::uint32_t kTcpHeaderBytes = 20;             // without options
inline constexpr std::uint32_t kTimestampsBytes = 12;            // padded
inline constexpr std::uint32_t kPaddedTimestamps = 0x0101'080a;  // NOP, NOP, timestamps of 10 bytes

// The TCP header and its options, until an option contradicts itself (as Linux does). The walk ends
// at the payload. Malformed: cut before the ports, or contradicting itself; OtherIp: cut between
// ports and window, so that the connection cannot be followed.
Kind read_tcp(Walk& walk, Packet& packet);

// The walk ends at the payload. A length of 0 is a super-frame's: then the IP packet's is used.
// Malformed: cut before the ports, or contradicting itself.
Kind read_udp(Walk& walk, Packet& packet);

// The walk stands at UDP's payload, and is limited to the message: without base transport header,
// extended headers, pad and ICRC. False, nothing changed: not RoCEv2, or cut inside the base
// transport header.
bool read_roce(Walk& walk, Roce& roce);

}  // namespace chokepoint::capture::packet
