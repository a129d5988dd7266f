#include <algorithm>

#include "capture/packet/headers.h"
#include "capture/packet/roce_operation.h"

namespace chokepoint::capture::packet {
namespace {

//   TCP   0            2                 4          8                12       13      14       16
//         | source port | destination port | sequence | acknowledgement | length | flags | window |
//         checksum …
enum OptionKind : std::uint8_t {
  kEndOfList = 0,
  kNoOperation = 1,
  kMss = 2,
  kWindowScale = 3,
  kSackPermitted = 4,
  kSack = 5,
  kTimestamps = 8,
};

void take_sack(const std::uint8_t* value, std::uint32_t bytes, Tcp& tcp) {
  if (bytes % 8 != 0) {
    return;
  }
  const auto blocks = std::min<std::uint32_t>(bytes / 8, kMaxSackBlocks);
  for (std::uint32_t i = 0; i < blocks; ++i, value += 8) {
    tcp.sack[i] = {.begin = read32(value), .end = read32(value + 4)};
  }
  tcp.sack_blocks = static_cast<std::uint8_t>(blocks);
}

void take_window_scale(std::uint8_t shift, Tcp& tcp) {
  constexpr std::uint8_t kMaxScale = 14;  // RFC 7323, 2.3
  tcp.window_scale = std::min(shift, kMaxScale);
  tcp.options |= kHasWindowScale;
}

// `length` includes the bytes of kind and length.
void take_option(const std::uint8_t* option, std::uint32_t length, Tcp& tcp) {
  if (option[0] == kTimestamps && length == 10) {
    tcp.timestamp = read32(option + 2);
    tcp.timestamp_echo = read32(option + 6);
    tcp.options |= kHasTimestamps;
  } else if (option[0] == kSack) {
    take_sack(option + 2, length - 2, tcp);
  } else if (option[0] == kMss && length == 4) {
    tcp.mss = read16(option + 2);
    tcp.options |= kHasMss;
  } else if (option[0] == kWindowScale && length == 3) {
    take_window_scale(option[2], tcp);
  } else if (option[0] == kSackPermitted && length == 2) {
    tcp.options |= kHasSackPermitted;
  }
}

// Reads the list in [begin, end): kind, length, value, each; NOP and the end of the list are kinds
// alone. Only whole options are taken; of repeated ones the last is kept.
void read_tcp_options(const std::uint8_t* begin, const std::uint8_t* end, Tcp& tcp) {
  const std::uint8_t* at = begin;
  while (at < end && *at != kEndOfList) {
    if (*at == kNoOperation) {
      ++at;
      continue;
    }
    if (end - at < 2 || at[1] < 2 || at[1] > end - at) {
      return;
    }
    take_option(at, at[1], tcp);
    at += at[1];
  }
}

constexpr std::uint32_t kPortsBytes = 4;
constexpr std::uint32_t kToWindow = 16;
constexpr std::uint32_t kToChecksum = 18;
constexpr std::uint32_t kUdpHeaderBytes = 8;

void take_options(Walk& walk, std::uint32_t header_bytes, Tcp& tcp) {
  const std::uint8_t* begin = walk.here() + kTcpHeaderBytes;
  if (header_bytes == kTcpHeaderBytes + kTimestampsBytes && walk.has(header_bytes) &&
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
  if (captured > kTcpHeaderBytes) {
    read_tcp_options(begin, walk.here() + captured, tcp);
  }
}

//   RoCEv2   0        1              2       4              5             8            9     12
//            | opcode | SE M pad ver | P_Key | F B reserved | queue pair  | A reserved | PSN |
//            headers of roce_operation.h | message | pad | ICRC
constexpr std::uint32_t kBaseBytes = 12;
constexpr std::uint32_t kIcrcBytes = 4;
constexpr std::uint8_t kCongestionNotification = 0x81;

void take_base(const std::uint8_t* header, Roce& roce) {
  roce.opcode = header[0];
  roce.forward_congestion = (header[4] & 0x80) != 0;
  roce.backward_congestion = (header[4] & 0x40) != 0;
  roce.queue_pair = read24(header + 5);
  roce.wants_ack = (header[8] & 0x80) != 0;
  roce.sequence = read24(header + 9);
}

// RETH 16: address, key, length. AETH 4: syndrome, message number.
void take_extended(const Walk& walk, const RoceOperation& operation, Roce& roce) {
  const std::uint32_t skipped = kBaseBytes + operation.service_bytes;
  const std::uint8_t* header = walk.here() + skipped;
  if (operation.has_reth() && walk.has(skipped + 16)) {
    roce.has_reth = true;
    roce.dma_bytes = read32(header + 12);
  }
  if (operation.has_aeth() && walk.has(skipped + 4)) {
    roce.has_aeth = true;
    roce.syndrome = header[0];
    roce.message = read24(header + 1);
  }
}

}  // namespace

Kind read_tcp(Walk& walk, Packet& packet) {
  if (!walk.has(kPortsBytes)) {
    return Kind::Malformed;
  }
  const std::uint8_t* header = walk.here();
  packet.ends.source_port = read16(header);
  packet.ends.destination_port = read16(header + 2);
  if (!walk.has(kToWindow)) {
    return walk.rest() < kTcpHeaderBytes ? Kind::Malformed : Kind::OtherIp;
  }
  const std::uint32_t header_bytes = std::uint32_t{4} * (header[12] >> 4);
  if (header_bytes < kTcpHeaderBytes || header_bytes > walk.rest()) {
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

Kind read_udp(Walk& walk, Packet& packet) {
  constexpr std::uint32_t kToLength = 6;
  if (!walk.has(kPortsBytes) || walk.rest() < kUdpHeaderBytes) {
    return Kind::Malformed;
  }
  packet.ends.source_port = read16(walk.here());
  packet.ends.destination_port = read16(walk.here() + 2);
  const std::uint32_t length = walk.has(kToLength) ? read16(walk.here() + 4) : 0;
  if (length != 0 && (length < kUdpHeaderBytes || !walk.limit(length))) {
    return Kind::Malformed;
  }
  walk.at += kUdpHeaderBytes;
  return Kind::Udp;
}

bool read_roce(Walk& walk, Roce& roce) {
  if (!walk.has(kBaseBytes) || walk.rest() < kBaseBytes + kIcrcBytes ||
      (walk.here()[1] & 15) != 0) {
    return false;
  }
  const std::uint8_t* header = walk.here();
  const bool is_notification = header[0] == kCongestionNotification;
  const RoceService service = roce_service(header[0]);
  if (service > RoceService::ExtendedConnected ||
      (service == RoceService::CongestionNotification && !is_notification)) {
    return false;
  }
  const RoceOperation operation = roce_operation(header[0]);
  const std::uint32_t before =
      is_notification ? walk.rest() - kIcrcBytes
                      : kBaseBytes + std::uint32_t{operation.service_bytes} + operation.code_bytes;
  const std::uint32_t pad = is_notification ? 0 : (header[1] >> 4) & 3U;
  if (before + pad + kIcrcBytes > walk.rest()) {
    return false;
  }
  take_base(header, roce);
  take_extended(walk, operation, roce);
  walk.end -= pad + kIcrcBytes;
  walk.captured = std::min(walk.captured, walk.end);
  walk.at += before;
  return true;
}

}  // namespace chokepoint::capture::packet
