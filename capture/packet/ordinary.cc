// Nine of ten frames of a job are alike, and reading them header by header takes three times as
// many instructions: each header's length is checked against what is captured and what is left.
#include <algorithm>

#include "capture/packet/decoder.h"
#include "capture/packet/headers.h"

namespace chokepoint::capture::packet {
namespace {

// What stands in front of TCP.
struct OrdinaryIp {
  std::uint32_t header_bytes = 0;  // 0: not an ordinary header
  std::uint32_t packet_bytes = 0;  // header included, as it says
};

// Behind `header` are kIpv4HeaderBytes + kTcpHeaderBytes captured bytes or more.
OrdinaryIp take_ipv4(const std::uint8_t* header, Packet& packet) {
  constexpr std::uint8_t kVersionAndLength = 0x45;
  const bool is_fragment = (read16(header + 6) & (kMoreFragments | kFragmentOffset)) != 0;
  if (header[0] != kVersionAndLength || header[9] != kTcpProtocol || is_fragment) {
    return {};
  }
  packet.ends.source = mapped(header + 12);
  packet.ends.destination = mapped(header + 16);
  packet.ends.is_ipv6 = false;
  packet.congestion_bits = header[1] & 3;
  packet.hop_limit = header[8];
  packet.has_ip_id = true;
  packet.ip_id = read16(header + 4);
  return {.header_bytes = kIpv4HeaderBytes, .packet_bytes = read16(header + 2)};
}

OrdinaryIp take_ipv6(const std::uint8_t* header, Packet& packet) {
  if (header[0] >> 4 != 6 || header[6] != kTcpProtocol) {
    return {};
  }
  packet.ends.source = address_at(header + 8);
  packet.ends.destination = address_at(header + 24);
  packet.ends.is_ipv6 = true;
  packet.congestion_bits = (header[1] >> 4) & 3;
  packet.hop_limit = header[7];
  packet.has_ip_id = false;
  packet.ip_id = 0;
  return {.header_bytes = kIpv6HeaderBytes, .packet_bytes = kIpv6HeaderBytes + read16(header + 4)};
}

void take_tcp(const std::uint8_t* header, bool has_timestamps, Packet& packet) {
  packet.ends.source_port = read16(header);
  packet.ends.destination_port = read16(header + 2);
  packet.ends.protocol = kTcpProtocol;
  packet.ends.tunnel = 0;
  Tcp& tcp = packet.tcp;
  tcp.sequence = read32(header + 4);
  tcp.acknowledgement = read32(header + 8);
  tcp.timestamp = has_timestamps ? read32(header + kTcpHeaderBytes + 4) : 0;
  tcp.timestamp_echo = has_timestamps ? read32(header + kTcpHeaderBytes + 8) : 0;
  tcp.window = read16(header + 14);
  tcp.checksum = read16(header + 16);
  tcp.mss = 0;
  tcp.window_scale = 0;
  tcp.flags = header[13];
  tcp.options = has_timestamps ? kHasTimestamps : 0;
  tcp.sack_blocks = 0;
}

}  // namespace

bool read_ordinary(const Frame& frame, Packet& packet) {
  const std::uint32_t captured = std::min(frame.captured_bytes, frame.frame_bytes);
  if (frame.link_type != LinkType::Ethernet ||
      captured < kEthernetBytes + kIpv4HeaderBytes + kTcpHeaderBytes) {
    return false;
  }
  const std::uint8_t* const header = frame.data + kEthernetBytes;
  const std::uint16_t type = read16(header - 2);
  OrdinaryIp ip;
  if (type == kIpv4) {
    ip = take_ipv4(header, packet);
  } else if (type == kIpv6 && captured >= kEthernetBytes + kIpv6HeaderBytes + kTcpHeaderBytes) {
    ip = take_ipv6(header, packet);
  }
  if (ip.header_bytes == 0) {
    return false;
  }
  const std::uint32_t tcp_at = kEthernetBytes + ip.header_bytes;
  const std::uint8_t* const tcp = frame.data + tcp_at;
  const std::uint32_t payload_at = tcp_at + std::uint32_t{4} * (tcp[12] >> 4);
  const std::uint32_t end = kEthernetBytes + ip.packet_bytes;
  const std::uint32_t captured_end = std::min(captured, end);
  if (end > frame.frame_bytes || payload_at > captured_end) {
    return false;
  }
  const bool has_timestamps = payload_at == tcp_at + kTcpHeaderBytes + kTimestampsBytes &&
                              read32(tcp + kTcpHeaderBytes) == kPaddedTimestamps;
  if (!has_timestamps && payload_at != tcp_at + kTcpHeaderBytes) {
    return false;
  }
  packet.time_ns = frame.time_ns;
  packet.interface = frame.interface;
  packet.frame_bytes = frame.frame_bytes;
  packet.header_bytes = payload_at;
  packet.payload_bytes = end - payload_at;
  packet.captured_payload_bytes = captured_end - payload_at;
  packet.payload = frame.data + payload_at;
  packet.kind = Kind::Tcp;
  packet.is_later_fragment = false;
  packet.vlan = 0;
  take_tcp(tcp, has_timestamps, packet);
  return true;
}

}  // namespace chokepoint::capture::packet
