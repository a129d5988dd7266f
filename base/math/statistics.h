// Robust statistics over a handful of measurements. Empty input has no median: ask count first.
// Pure functions; they copy what they have to sort.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <span>

namespace chokepoint::math {

// The figures of every distribution in the JSON documents. count 0: nothing was measured.
struct Distribution {
  double min = 0;
  double median = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;
  std::uint64_t count = 0;
};

std::optional<double> mean(std::span<const double> values);
std::optional<double> median(std::span<const double> values);

// The value below which this share (0..1) lies, interpolated between neighbours.
std::optional<double> quantile(std::span<const double> values, double share);

// Of normal data the standard deviation is this many times the median absolute deviation: 1 /
// Φ⁻¹(¾).
inline constexpr double kDeviationsPerMedianDeviation = 1.4826;

// Median of the distances from the median: a spread that a few wild values cannot move.
std::optional<double> median_absolute_deviation(std::span<const double> values);

Distribution distribution(std::span<const double> values);

// The sum of a member or a function over a range.
template <std::ranges::forward_range Range, class Of>
double sum_by(const Range& values, Of of) {
  double sum = 0;
  for (const auto& value : values) {
    sum += static_cast<double>(std::invoke(of, value));
  }
  return sum;
}

// The element for which a member or a function is largest, the first of equal ones; nullptr for an
// empty range.
template <std::ranges::contiguous_range Range, class Of>
auto most_by(const Range& values, Of of) -> const std::ranges::range_value_t<Range>* {
  const auto most = std::ranges::max_element(values, {}, of);
  return most == std::ranges::end(values) ? nullptr : &*most;
}

}  // namespace chokepoint::math
