// The header before each frame of a TAP device with IFF_VNET_HDR, as linux/virtio_net.h has it;
// that file is no C++.
#pragma once

#include <cstdint>

namespace chokepoint::lab {

struct VirtioHeader {
  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;
  std::uint16_t hdr_len = 0;
  std::uint16_t gso_size = 0;    // payload of a segment; 0 for a plain frame
  std::uint16_t csum_start = 0;  // where the transport header begins
  std::uint16_t csum_offset = 0;
};
static_assert(sizeof(VirtioHeader) == 10);

inline constexpr std::uint8_t kGsoNone = 0;
inline constexpr std::uint8_t kGsoTcp4 = 1;
inline constexpr std::uint8_t kGsoTcp6 = 4;
inline constexpr std::uint8_t kGsoUdpSegments = 5;  // since Linux 6.2
inline constexpr std::uint8_t kGsoEcnFlag = 0x80;

}  // namespace chokepoint::lab
