// The rows of limits.def as constants of this namespace, and as a list for docs/reference.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chokepoint::analysis {

#define CHOKEPOINT_THRESHOLD(name, value, unit, bounds, source) inline constexpr auto name = value;
#include "analysis/limits/limits.def"
#undef CHOKEPOINT_THRESHOLD

struct Threshold {
  std::string_view name = {};
  double value = 0;
  std::string_view unit = {};
  std::string_view bounds = {};
  std::string_view source = {};
};

inline constexpr auto kThresholds = std::to_array<Threshold>({
#define CHOKEPOINT_THRESHOLD(name, value, unit, bounds, source) \
  {#name, static_cast<double>(value), unit, bounds, source},
#include "analysis/limits/limits.def"
#undef CHOKEPOINT_THRESHOLD
});

}  // namespace chokepoint::analysis
