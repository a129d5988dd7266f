// Long lists as columns of a document, with no more digits than anybody can use: a page must stay
// small. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cli/output.h"

namespace chokepoint::analysis {

// Four digits that count; what is not a number is unknown.
inline cli::Json rounded(double value) {
  if (!std::isfinite(value)) {
    return {};
  }
  if (value == 0) {
    return 0;
  }
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  const double round = std::round(value * scale) / scale;
  if (std::abs(round) < 1e15 && round == std::floor(round)) {
    return static_cast<std::int64_t>(round);
  }
  return round;
}

// Seconds since a moment, to a hundredth of a millisecond.
inline double seconds_since(std::int64_t origin_ns, std::int64_t t_ns) {
  return std::round(static_cast<double>(t_ns - origin_ns) / 1e4) / 1e5;
}

template <class Rows, class F>
cli::Json column(const Rows& rows, F&& value) {
  cli::Json list = cli::Json::array();
  for (const auto& row : rows) {
    list.push_back(value(row));
  }
  return list;
}

}  // namespace chokepoint::analysis
