// What the headers of one frame say, without state or judgement. Decoder fills one per frame; the
// flow engine and the followers of protocols inside a flow read it. A value of fixed size that is
// never on the heap by itself; `payload` points into the frame's bytes.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace chokepoint::capture::packet {

// IPv4 as ::ffff:a.b.c.d. Two words in network byte order: comparing and hashing take two steps.
struct Address {
  std::array<std::uint64_t, 2> words{};

  bool operator==(const Address&) const = default;
  auto operator<=>(const Address&) const = default;
};

enum class Kind : std::uint8_t {
  Tcp,
  Udp,
  Roce,  // RoCEv2 inside UDP
  // IP with another protocol; a later fragment whose first one was not seen; TCP cut before its
  // window
  OtherIp,
  NotIp,      // ARP and the like
  Malformed,  // contradicts itself, or was cut before the ports
};

struct Ends {
  Address source;
  Address destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t protocol = 0;  // of the IP header
  bool is_ipv6 = false;
  std::uint32_t tunnel = 0;  // VXLAN or Geneve network, GRE key; 0 outside of a tunnel

  bool operator==(const Ends&) const = default;
};

enum TcpFlag : std::uint8_t {
  kFin = 0x01,
  kSyn = 0x02,
  kRst = 0x04,
  kPush = 0x08,
  kAck = 0x10,
  kUrgent = 0x20,
  kEce = 0x40,
  kCwr = 0x80,
};

// Which options were there, whole.
enum TcpOption : std::uint8_t {
  kHasTimestamps = 0x01,
  kHasMss = 0x02,
  kHasWindowScale = 0x04,
  kHasSackPermitted = 0x08,
  kHasCutOptions = 0x10,  // the capture ends inside the options
};

struct SackBlock {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

inline constexpr std::size_t kMaxSackBlocks = 4;

struct Tcp {
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::uint32_t timestamp = 0;
  std::uint32_t timestamp_echo = 0;
  std::uint16_t window = 0;  // as in the header, unscaled
  std::uint16_t checksum = 0;
  std::uint16_t mss = 0;
  std::uint8_t window_scale = 0;  // 14 at most, whatever was sent
  std::uint8_t flags = 0;         // TcpFlag
  std::uint8_t options = 0;       // TcpOption
  std::uint8_t sack_blocks = 0;
  std::array<SackBlock, kMaxSackBlocks> sack{};  // a DSACK is the first, as it came

  bool has(TcpFlag flag) const { return (flags & flag) != 0; }
  bool has(TcpOption option) const { return (options & option) != 0; }
};

// Base transport header and, in acknowledgements, AETH.
struct Roce {
  std::uint32_t queue_pair = 0;  // the destination's
  std::uint32_t sequence = 0;    // PSN, 24 bits
  std::uint32_t message = 0;     // MSN, 24 bits, where has_aeth
  std::uint32_t dma_bytes = 0;   // of a read or write request (RETH), where has_reth
  std::uint8_t opcode = 0;
  std::uint8_t syndrome = 0;  // where has_aeth
  bool has_aeth = false;
  bool has_reth = false;
  bool wants_ack = false;
  bool forward_congestion = false;   // FECN
  bool backward_congestion = false;  // BECN
};

inline constexpr std::size_t kCacheLine = 64;

// Malformed: the fields read before the contradiction or the cut are valid, and there is no
// payload. OtherIp: the payload begins behind the IP header. Roce: behind its extended headers.
//
// If a TCP segment was sent in fragments, each piece is a packet with its own part of the payload;
// SYN comes with the first, FIN with the last.
//
// Packets pass between threads: an ordinary TCP packet's fields lie in the first two cache lines;
// the third, SACK and RoCE, is only touched where they occur.
struct alignas(kCacheLine) Packet {
  std::int64_t time_ns = 0;
  std::uint32_t interface = 0;
  std::uint32_t frame_bytes = 0;  // as the tap had it, Ethernet header included, super-frames whole
  std::uint32_t header_bytes = 0;  // what each segment of a super-frame repeats: link to TCP or UDP
  std::uint32_t payload_bytes = 0;  // behind the TCP or UDP header, Ethernet padding excluded
  std::uint32_t captured_payload_bytes = 0;
  const std::uint8_t* payload = nullptr;
  Ends ends{};
  Kind kind = Kind::NotIp;
  std::uint8_t congestion_bits = 0;  // ECN: 3 is "congestion experienced"
  std::uint8_t hop_limit = 0;
  bool is_later_fragment = false;  // with the first one's ports, and TCP's sequence of this piece
  bool has_ip_id = false;          // IPv4
  std::uint16_t ip_id = 0;
  std::uint16_t vlan = 0;  // the outermost; 0 without
  Tcp tcp{};
  Roce roce{};  // of kind Roce alone
};

static_assert(offsetof(Packet, tcp) + offsetof(Tcp, sack) <= 2 * kCacheLine);

// What the wire carried of a super-frame. With GSO a sender's tap sees one frame that the NIC will
// cut into many, with GRO a receiver's tap sees many merged into one; each has the headers.
struct OnTheWire {
  std::uint32_t segments = 1;
  std::uint64_t bytes = 0;  // Ethernet header included, no FCS
};

// `segment_payload` is the most that one segment carries (MSS less options); 0 if it is not known:
// then the frame counts as one segment.
inline OnTheWire on_the_wire(const Packet& packet, std::uint32_t segment_payload) {
  if (segment_payload == 0 || packet.payload_bytes <= segment_payload) {
    return {.segments = 1, .bytes = packet.frame_bytes};
  }
  const std::uint32_t segments = (packet.payload_bytes + segment_payload - 1) / segment_payload;
  return {.segments = segments,
          .bytes = packet.payload_bytes + std::uint64_t{packet.header_bytes} * segments};
}

}  // namespace chokepoint::capture::packet
