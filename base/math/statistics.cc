#include "base/math/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace chokepoint::math {
namespace {

double quantile_of_sorted(std::span<const double> sorted, double share) {
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * fraction;
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

std::optional<double> mean(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> quantile(std::span<const double> values, double share) {
  if (values.empty()) {
    return std::nullopt;
  }
  // As quantile_of_sorted(), with no more sorted than it takes.
  std::vector<double> copy(values.begin(), values.end());
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(copy.size() - 1);
  const auto below = copy.begin() + static_cast<std::ptrdiff_t>(position);
  std::ranges::nth_element(copy, below);
  const auto above = below + 1 == copy.end() ? below : std::min_element(below + 1, copy.end());
  return *below + (*above - *below) * (position - std::floor(position));
}

std::optional<double> median(std::span<const double> values) { return quantile(values, 0.5); }

std::optional<double> median_absolute_deviation(std::span<const double> values) {
  const std::optional<double> center = median(values);
  if (!center) {
    return std::nullopt;
  }
  std::vector<double> distances(values.begin(), values.end());
  for (double& value : distances) {
    value = std::abs(value - *center);
  }
  return median(distances);
}

Distribution distribution(std::span<const double> values) {
  if (values.empty()) {
    return {};
  }
  const std::vector<double> sorted = sorted_copy(values);
  return {.min = sorted.front(),
          .median = quantile_of_sorted(sorted, 0.5),
          .p99 = quantile_of_sorted(sorted, 0.99),
          .max = sorted.back(),
          .mean = *mean(values),
          .count = sorted.size()};
}

}  // namespace chokepoint::math
