// Numbers out of bytes that lie anywhere, in the order of whoever wrote them. Pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace chokepoint::capture::source {

// Whether the writer's machine counted its bytes as this one does.
enum class ByteOrder : bool { Own, Swapped };

template <class Number>
Number load(const std::uint8_t* from, ByteOrder order) {
  Number number = 0;
  std::memcpy(&number, from, sizeof(number));
  return order == ByteOrder::Own ? number : std::byteswap(number);
}

}  // namespace chokepoint::capture::source
