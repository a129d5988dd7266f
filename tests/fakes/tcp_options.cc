#include "tests/fakes/packets.h"

namespace chokepoint::fakes {
namespace {

Bytes big_endian(std::uint64_t value, std::size_t bytes) {
  Bytes out;
  for (std::size_t i = bytes; i-- > 0;) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  return out;
}

}  // namespace

Bytes timestamps(std::uint32_t value, std::uint32_t echo) {
  return Bytes{1, 1, 8, 10} + big_endian(value, 4) + big_endian(echo, 4);
}

Bytes maximum_segment_size(std::uint16_t bytes) { return Bytes{2, 4} + big_endian(bytes, 2); }

Bytes window_scale(std::uint8_t shift) { return {1, 3, 3, shift}; }

Bytes sack_permitted() { return {1, 1, 4, 2}; }

Bytes selective_acknowledgement(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& blocks) {
  Bytes option{1, 1, 5, static_cast<std::uint8_t>(2 + 8 * blocks.size())};
  for (const auto& [begin, end] : blocks) {
    option = option + big_endian(begin, 4) + big_endian(end, 4);
  }
  return option;
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace chokepoint::fakes
