#include "capture/packet/decoder.h"

#include "capture/packet/protocols.h"
#include "capture/packet/roce.h"
#include "capture/packet/tcp.h"
#include "capture/packet/tunnel.h"
#include "capture/packet/udp.h"

namespace chokepoint::capture::packet {
namespace {

constexpr int kMostTunnels = 4;  // inside one another

// SACK blocks have a count of their own, so the old ones may stay.
void forget(Tcp& tcp) {
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
  forget(packet.tcp);
}

// Behind all headers that were understood.
void take_payload(const Walk& walk, Packet& packet) {
  packet.payload_bytes = walk.rest();
  packet.captured_payload_bytes = walk.captured_rest();
  packet.payload = walk.data + std::min(walk.at, walk.captured);
}

// RoCEv2 is never sent in fragments.
Kind see_udp(Walk& walk, bool is_whole, Packet& packet) {
  const Kind kind = read_udp(walk, packet);
  packet.header_bytes = walk.headers();
  const bool may_be_roce = packet.ends.destination_port == kRocePort && is_whole;
  if (kind != Kind::Udp || !may_be_roce) {
    return kind;
  }
  packet.roce = {};
  return read_roce(walk, packet.roce) ? Kind::Roce : kind;
}

Kind see_transport(Walk& walk, bool is_whole, Packet& packet) {
  packet.header_bytes = walk.headers();
  if (packet.ends.protocol == kTcpProtocol) {
    const Kind kind = read_tcp(walk, packet);
    packet.header_bytes = walk.headers();
    return kind;
  }
  return packet.ends.protocol == kUdpProtocol ? see_udp(walk, is_whole, packet) : Kind::OtherIp;
}

// As the tunnel's end will put it: a mark of the outer header reaches an inner one that allows
// marks.
std::uint8_t congestion_bits(const Packet& outer, const Packet& inner) {
  constexpr std::uint8_t kMarked = 3;
  const bool is_marked = outer.congestion_bits == kMarked && inner.congestion_bits != 0;
  return is_marked ? kMarked : inner.congestion_bits;
}

bool read_ip(Walk& walk, Network network, Packet& packet, Piece& piece) {
  return network == Network::Ipv4 ? read_ipv4(walk, packet, piece) : read_ipv6(walk, packet, piece);
}

}  // namespace

Kind Decoder::see_first_piece(Walk& walk, const Piece& piece, Packet& packet) {
  walk.is_piece = true;
  packet.kind = see_transport(walk, false, packet);
  if (packet.kind == Kind::Tcp || packet.kind == Kind::Udp) {
    fragments_.remember(packet, piece, walk.at - piece.begin);
    packet.tcp.flags &= ~kFin;
  }
  return packet.kind;
}

Kind Decoder::see_later_piece(const Walk& walk, const Piece& piece, Packet& packet) {
  packet.is_later_fragment = true;
  packet.header_bytes = walk.headers();
  return fragments_.complete(packet, piece) ? packet.kind : Kind::OtherIp;
}

Kind Decoder::see(Walk& walk, Network network, Packet& packet) {
  if (network == Network::Other) {
    return Kind::NotIp;
  }
  Piece piece;
  if (network == Network::Cut || !read_ip(walk, network, packet, piece)) {
    return Kind::Malformed;
  }
  Kind kind = Kind::OtherIp;
  if (!piece.is_fragment()) {
    kind = see_transport(walk, true, packet);
  } else if (piece.is_later()) {
    kind = see_later_piece(walk, piece, packet);
  } else {
    kind = see_first_piece(walk, piece, packet);
  }
  if (kind != Kind::Malformed) {
    take_payload(walk, packet);
  }
  return kind;
}

void Decoder::look_inside(Walk walk, Packet& packet) {
  for (int depth = 0; depth < kMostTunnels; ++depth) {
    Packet inner = packet;
    const Network network = enter_tunnel(walk, packet, tunnels_, inner.ends.tunnel);
    if (network != Network::Ipv4 && network != Network::Ipv6) {
      return;
    }
    inner.ends.source_port = inner.ends.destination_port = 0;
    inner.kind = see(walk, network, inner);
    if (inner.kind == Kind::Malformed) {
      return;
    }
    inner.congestion_bits = congestion_bits(packet, inner);
    packet = inner;
  }
}

void Decoder::decode(const Frame& frame, Packet& packet) {
  begin(frame, packet);
  Walk walk(frame);
  walk.made_up = made_up_bytes(frame.link_type);
  packet.frame_bytes -= std::min(packet.frame_bytes, walk.made_up);
  const Network network = skip_link(walk, frame.link_type, packet.vlan);
  packet.kind = see(walk, network, packet);
  if (tunnels_.any()) {
    look_inside(walk, packet);
  }
}

}  // namespace chokepoint::capture::packet
