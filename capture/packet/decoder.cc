#include "capture/packet/decoder.h"

#include <algorithm>

#include "capture/packet/headers.h"

namespace chokepoint::capture::packet {
namespace {

// A clock may step back: the distance counts in either direction.
bool is_recent(std::int64_t then, std::int64_t now) {
  constexpr std::uint64_t kMaxAgeNs = 30'000'000'000;
  const std::uint64_t age = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(then);
  return std::min(age, std::uint64_t{0} - age) <= kMaxAgeNs;
}

// The header as the piece at this offset would have it: SYN stays with the first piece, FIN goes to
// the last.
Tcp moved_on(Tcp tcp, std::uint32_t bytes, bool is_last) {
  const bool has_fin = tcp.has(kFin) && is_last;
  tcp.sequence += bytes + (tcp.has(kSyn) ? 1 : 0);
  tcp.flags &= kAck;
  tcp.flags |= has_fin ? kFin : 0;
  tcp.options &= kHasTimestamps;
  tcp.sack_blocks = 0;
  return tcp;
}

constexpr int kMaxTunnelDepth = 4;  // inside one another

// SACK blocks are valid up to sack_blocks, so they need no reset.
void reset(Tcp& tcp) {
  tcp.sequence = tcp.acknowledgement = tcp.timestamp = tcp.timestamp_echo = 0;
  tcp.window = tcp.checksum = tcp.mss = 0;
  tcp.window_scale = tcp.flags = tcp.options = tcp.sack_blocks = 0;
}

void begin(const Frame& frame, Packet& packet) {
  packet.time_ns = frame.time_ns;
  packet.interface = frame.interface;
  packet.frame_bytes = frame.frame_bytes;
  packet.header_bytes = 0;
  packet.payload_bytes = 0;
  packet.captured_payload_bytes = 0;
  packet.payload = nullptr;
  packet.ends = {};
  packet.kind = Kind::NotIp;
  packet.congestion_bits = 0;
  packet.hop_limit = 0;
  packet.is_later_fragment = false;
  packet.has_ip_id = false;
  packet.ip_id = 0;
  packet.vlan = 0;
  reset(packet.tcp);
}

// The walk is behind all headers.
void take_payload(const Walk& walk, Packet& packet) {
  packet.payload_bytes = walk.rest();
  packet.captured_payload_bytes = walk.captured_rest();
  packet.payload = walk.data + std::min(walk.at, walk.captured);
}

// RoCEv2 is never sent in fragments.
Kind decode_udp(Walk& walk, bool is_whole, Packet& packet) {
  const Kind kind = read_udp(walk, packet);
  packet.header_bytes = walk.headers();
  const bool may_be_roce = packet.ends.destination_port == kRocePort && is_whole;
  if (kind != Kind::Udp || !may_be_roce) {
    return kind;
  }
  packet.roce = {};
  return read_roce(walk, packet.roce) ? Kind::Roce : kind;
}

Kind decode_transport(Walk& walk, bool is_whole, Packet& packet) {
  packet.header_bytes = walk.headers();
  if (packet.ends.protocol == kTcpProtocol) {
    const Kind kind = read_tcp(walk, packet);
    packet.header_bytes = walk.headers();
    return kind;
  }
  return packet.ends.protocol == kUdpProtocol ? decode_udp(walk, is_whole, packet) : Kind::OtherIp;
}

// What the tunnel's end makes of both (RFC 6040): the outer header's mark is copied to an inner
// header that allows marks.
std::uint8_t congestion_bits(const Packet& outer, const Packet& inner) {
  constexpr std::uint8_t kMarked = 3;
  const bool is_marked = outer.congestion_bits == kMarked && inner.congestion_bits != 0;
  return is_marked ? kMarked : inner.congestion_bits;
}

bool read_ip(Walk& walk, Network network, Packet& packet, Piece& piece) {
  return network == Network::Ipv4 ? read_ipv4(walk, packet, piece) : read_ipv6(walk, packet, piece);
}

}  // namespace

bool Fragments::First::is_of(const Packet& packet, const Piece& piece) const {
  return kind != Kind::NotIp && id == piece.id && protocol == piece.protocol &&
         ends.source == packet.ends.source && ends.destination == packet.ends.destination &&
         ends.is_ipv6 == packet.ends.is_ipv6 && ends.tunnel == packet.ends.tunnel;
}

std::size_t Fragments::set_of(const Packet& packet, const Piece& piece) {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  std::uint64_t mixed = piece.id;
  for (const std::uint64_t word :
       {packet.ends.source.words[0], packet.ends.source.words[1], packet.ends.destination.words[0],
        packet.ends.destination.words[1]}) {
    mixed = (mixed ^ word) * kOdd;
    mixed ^= mixed >> 29;
  }
  return mixed % kSets;
}

void Fragments::remember(const Packet& packet, const Piece& piece, std::uint32_t before) {
  Set& set = sets_[set_of(packet, piece)];
  const auto same = std::ranges::find_if(
      set.places, [&](const First& first) { return first.is_of(packet, piece); });
  First* place = same != set.places.end() ? &*same : nullptr;
  if (place == nullptr) {
    place = &set.places[set.next];
    set.next = (set.next + 1) % kPlaces;
  }
  *place = {.time_ns = packet.time_ns,
            .ends = packet.ends,
            .tcp = packet.tcp,
            .id = piece.id,
            .before = before,
            .kind = packet.kind,
            .protocol = piece.protocol};
}

bool Fragments::complete(Packet& later, const Piece& piece) const {
  for (const First& first : sets_[set_of(later, piece)].places) {
    if (!first.is_of(later, piece)) {
      continue;
    }
    if (piece.offset < first.before || !is_recent(first.time_ns, later.time_ns)) {
      return false;
    }
    later.ends = first.ends;
    later.kind = first.kind;
    if (first.kind == Kind::Tcp) {
      later.tcp = moved_on(first.tcp, piece.offset - first.before, piece.is_last);
    }
    return true;
  }
  return false;
}

Kind Decoder::decode_first_piece(Walk& walk, const Piece& piece, Packet& packet) {
  walk.is_piece = true;
  packet.kind = decode_transport(walk, false, packet);
  if (packet.kind == Kind::Tcp || packet.kind == Kind::Udp) {
    fragments_.remember(packet, piece, walk.at - piece.begin);
    packet.tcp.flags &= ~kFin;
  }
  return packet.kind;
}

Kind Decoder::decode_later_piece(const Walk& walk, const Piece& piece, Packet& packet) {
  packet.is_later_fragment = true;
  packet.header_bytes = walk.headers();
  return fragments_.complete(packet, piece) ? packet.kind : Kind::OtherIp;
}

Kind Decoder::decode_ip(Walk& walk, Network network, Packet& packet) {
  if (network == Network::Other) {
    return Kind::NotIp;
  }
  Piece piece;
  if (network == Network::Cut || !read_ip(walk, network, packet, piece)) {
    return Kind::Malformed;
  }
  Kind kind = Kind::OtherIp;
  if (!piece.is_fragment()) {
    kind = decode_transport(walk, true, packet);
  } else if (piece.is_later()) {
    kind = decode_later_piece(walk, piece, packet);
  } else {
    kind = decode_first_piece(walk, piece, packet);
  }
  if (kind != Kind::Malformed) {
    take_payload(walk, packet);
  }
  return kind;
}

void Decoder::look_inside(Walk walk, Packet& packet) {
  for (int depth = 0; depth < kMaxTunnelDepth; ++depth) {
    Packet inner = packet;
    const Network network = enter_tunnel(walk, packet, tunnels_, inner.ends.tunnel);
    if (network != Network::Ipv4 && network != Network::Ipv6) {
      return;
    }
    inner.ends.source_port = inner.ends.destination_port = 0;
    inner.kind = decode_ip(walk, network, inner);
    if (inner.kind == Kind::Malformed) {
      return;
    }
    inner.congestion_bits = congestion_bits(packet, inner);
    packet = inner;
  }
}

void Decoder::decode_any(const Frame& frame, Packet& packet) {
  begin(frame, packet);
  Walk walk(frame);
  walk.made_up = made_up_bytes(frame.link_type);
  packet.frame_bytes -= std::min(packet.frame_bytes, walk.made_up);
  const Network network = skip_link(walk, frame.link_type, packet.vlan);
  packet.kind = decode_ip(walk, network, packet);
  if (tunnels_.any()) {
    look_inside(walk, packet);
  }
}

}  // namespace chokepoint::capture::packet
