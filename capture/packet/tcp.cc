#include "capture/packet/tcp.h"

#include "capture/packet/bytes.h"
#include "capture/packet/tcp_options.h"

namespace chokepoint::capture::packet {
namespace {

constexpr std::uint32_t kTcpPortsBytes = 4;
constexpr std::uint32_t kToWindow = 16;
constexpr std::uint32_t kToChecksum = 18;
constexpr std::uint32_t kFixed = 20;
constexpr std::uint32_t kTimestampsAlone = 12;

void take_options(Walk& walk, std::uint32_t header_bytes, Tcp& tcp) {
  constexpr std::uint32_t kPaddedTimestamps = 0x0101'080a;  // NOP, NOP, timestamps of 10 bytes
  const std::uint8_t* begin = walk.here() + kFixed;
  if (header_bytes == kFixed + kTimestampsAlone && walk.has(header_bytes) &&
      read32(begin) == kPaddedTimestamps) {
    tcp.timestamp = read32(begin + 4);
    tcp.timestamp_echo = read32(begin + 8);
    tcp.options = kHasTimestamps;
    return;
  }
  const std::uint32_t captured = std::min(walk.captured_rest(), header_bytes);
  if (captured < header_bytes) {
    tcp.options = kHasCutOptions;
  }
  if (captured > kFixed) {
    read_tcp_options(begin, walk.here() + captured, tcp);
  }
}

}  // namespace

Kind read_tcp(Walk& walk, Packet& packet) {
  if (!walk.has(kTcpPortsBytes)) {
    return Kind::Malformed;
  }
  const std::uint8_t* header = walk.here();
  packet.ends.source_port = read16(header);
  packet.ends.destination_port = read16(header + 2);
  if (!walk.has(kToWindow)) {
    return walk.rest() < kFixed ? Kind::Malformed : Kind::OtherIp;
  }
  const std::uint32_t header_bytes = std::uint32_t{4} * (header[12] >> 4);
  if (header_bytes < kFixed || header_bytes > walk.rest()) {
    return Kind::Malformed;
  }
  Tcp& tcp = packet.tcp;
  tcp.sequence = read32(header + 4);
  tcp.acknowledgement = read32(header + 8);
  tcp.flags = header[13];
  tcp.window = read16(header + 14);
  tcp.checksum = walk.has(kToChecksum) ? read16(header + 16) : 0;
  take_options(walk, header_bytes, tcp);
  walk.at += header_bytes;
  return Kind::Tcp;
}

}  // namespace chokepoint::capture::packet
