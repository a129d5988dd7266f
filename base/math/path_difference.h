// Whether two paths between the same hosts are unlike, by their round trips. Pure.
#pragma once

#include <algorithm>
#include <cmath>

namespace chokepoint::math {

// Chosen: schedulers and interrupt moderation at both ends make smaller differences between two
// measurements of the same path. docs/internals/path.md has both.
inline constexpr double kMinPathDifferenceMs = 2;
inline constexpr double kMinPathFactor = 1.5;

inline bool are_unlike(double one_ms, double other_ms) {
  return std::abs(one_ms - other_ms) >= kMinPathDifferenceMs &&
         std::max(one_ms, other_ms) >= kMinPathFactor * std::min(one_ms, other_ms);
}

}  // namespace chokepoint::math
