// Sums of untrusted whole numbers: where the true one does not fit the type, the nearest number
// that does. Pure.
#pragma once

#include <cstdint>
#include <limits>

namespace chokepoint::math {

constexpr std::int64_t saturated_sum(std::int64_t one, std::int64_t other) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(one, other, &sum)) {
    return sum;
  }
  return one < 0 ? std::numeric_limits<std::int64_t>::min()
                 : std::numeric_limits<std::int64_t>::max();
}

}  // namespace chokepoint::math
