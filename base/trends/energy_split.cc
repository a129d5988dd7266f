#include "base/trends/energy_split.h"

#include <cmath>

namespace chokepoint::trends {

std::vector<double> split_energies(std::span<const double> values) {
  const std::size_t count = values.size();
  // Of every value: the sum of its distances to those before it, and to those after it.
  std::vector<double> to_earlier(count, 0);
  std::vector<double> to_later(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[i];
    double sum = 0;
    for (std::size_t j = 0; j < i; ++j) {
      const double distance = std::abs(value - values[j]);
      sum += distance;
      to_later[j] += distance;
    }
    to_earlier[i] = sum;
  }
  std::vector<double> energies(count, 0);
  double between = 0;
  double within_first = 0;
  double within_second = 0;
  for (const double sum : to_later) {
    within_second += sum;
  }
  for (std::size_t k = 1; k < count; ++k) {
    between += to_later[k - 1] - to_earlier[k - 1];
    within_first += to_earlier[k - 1];
    within_second -= to_later[k - 1];
    const auto first = static_cast<double>(k);
    const auto second = static_cast<double>(count - k);
    if (k >= 2 && count - k >= 2) {
      energies[k] =
          2 / (first + second) *
          (between - within_first * second / (first - 1) - within_second * first / (second - 1));
    }
  }
  return energies;
}

}  // namespace chokepoint::trends
