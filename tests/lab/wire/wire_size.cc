#include "tests/lab/wire/wire_size.h"

#include <cstdint>
#include <cstring>

#include "tests/lab/wire/virtio_header.h"

namespace chokepoint::lab {
namespace {

constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kTcpHeaderLengthAt = 12;  // its upper half, in words of four bytes

std::size_t transport_header_bytes(const VirtioHeader& header, std::span<const std::byte> frame) {
  const auto kind = header.gso_type & ~kGsoEcnFlag;
  if (kind == kGsoUdpSegments) {
    return kUdpHeader;
  }
  const std::size_t at = header.csum_start + kTcpHeaderLengthAt;
  return at < frame.size() ? (std::to_integer<std::size_t>(frame[at]) >> 4) * 4 : 0;
}

}  // namespace

WireSize wire_size(std::span<const std::byte> data) {
  VirtioHeader header{};
  if (data.size() < sizeof header) {
    return {.bytes = data.size()};
  }
  std::memcpy(&header, data.data(), sizeof header);
  const auto frame = data.subspan(sizeof header);
  if (header.gso_type == kGsoNone || header.gso_size == 0) {
    return {.bytes = frame.size()};
  }
  const std::size_t headers = header.csum_start + transport_header_bytes(header, frame);
  if (headers >= frame.size()) {
    return {.bytes = frame.size()};
  }
  const std::size_t payload = frame.size() - headers;
  const std::size_t segments = (payload + header.gso_size - 1) / header.gso_size;
  return {.bytes = payload + segments * headers, .packets = segments};
}

}  // namespace chokepoint::lab
