#include "base/trends/energy_split.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::trends {
namespace {

// The sum of the distances of all pairs.
double distances_within(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  double sum = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    // As many pairs have it as the larger one as there are values below it.
    sum += sorted[i] * (2 * static_cast<double>(i) - static_cast<double>(sorted.size()) + 1);
  }
  return sum;
}

double distances_to(double value, std::span<const double> others) {
  double sum = 0;
  for (const double other : others) {
    sum += std::abs(value - other);
  }
  return sum;
}

}  // namespace

std::vector<double> split_energies(std::span<const double> values, std::size_t from) {
  const std::size_t count = values.size();
  std::vector<double> energies(count, 0);
  from = std::max<std::size_t>(from, 2);
  if (count < from + 2) {
    return energies;
  }
  const double all = distances_within(values);
  double within_first = distances_within(values.first(from));
  double within_second = distances_within(values.subspan(from));
  for (std::size_t k = from; k + 2 <= count; ++k) {
    const auto first = static_cast<double>(k);
    const auto second = static_cast<double>(count - k);
    const double between = all - within_first - within_second;
    energies[k] =
        2 / (first + second) *
        (between - within_first * second / (first - 1) - within_second * first / (second - 1));
    within_first += distances_to(values[k], values.first(k));
    within_second -= distances_to(values[k], values.subspan(k + 1));
  }
  return energies;
}

}  // namespace chokepoint::trends
