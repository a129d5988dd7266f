// Numbers in network order from anywhere in a frame. Whoever calls has seen that the bytes are
// there.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace chokepoint::capture::packet {

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

}  // namespace chokepoint::capture::packet
