#include "tests/lab/wire/data_frame.h"

#include <cstdint>

#include "tests/lab/wire/virtio_header.h"

namespace chokepoint::lab {
namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIpv6 = 40;
constexpr std::size_t kUdp = 8;
constexpr std::size_t kProtocolTcp = 6;
constexpr std::size_t kProtocolUdp = 17;

using Bytes = std::span<const std::byte>;

std::size_t byte_at(Bytes bytes, std::size_t place) {
  return place < bytes.size() ? std::to_integer<std::size_t>(bytes[place]) : 0;
}

std::size_t word_at(Bytes bytes, std::size_t place) {
  return byte_at(bytes, place) << 8U | byte_at(bytes, place + 1);
}

bool has_payload(Bytes ip, std::size_t protocol, std::size_t header, std::size_t total) {
  if (protocol == kProtocolTcp) {
    return total > header + (byte_at(ip, header + 12) >> 4U) * 4;
  }
  return protocol == kProtocolUdp && total > header + kUdp;
}

}  // namespace

bool carries_data(std::span<const std::byte> data) {
  if (data.size() < sizeof(VirtioHeader) + kEthernet) {
    return false;
  }
  const Bytes frame = data.subspan(sizeof(VirtioHeader));
  const Bytes ip = frame.subspan(kEthernet);
  switch (word_at(frame, kEthernet - 2)) {
    case 0x0800:
      return has_payload(ip, byte_at(ip, 9), (byte_at(ip, 0) & 0xFU) * 4, word_at(ip, 2));
    case 0x86DD:
      return has_payload(ip, byte_at(ip, 6), kIpv6, kIpv6 + word_at(ip, 4));
    default:
      return false;
  }
}

}  // namespace chokepoint::lab
