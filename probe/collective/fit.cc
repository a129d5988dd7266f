#include "probe/collective/fit.h"

#include <cmath>

namespace chokepoint::probe::collective {
namespace {

constexpr double kBitsPerByte = 8;  // a bit a microsecond is a megabit a second

// Of 1, x and y, each over y: the weighted sums that the normal equations are made of.
struct Sums {
  double weights = 0;
  double x = 0;
  double xx = 0;
  double y = 0;
  double xy = 0;
};

Sums sums_of(std::span<const Timed> sizes) {
  Sums sums;
  for (const Timed& each : sizes) {
    if (!(each.time_us > 0)) {
      continue;
    }
    const double weight = 1 / (each.time_us * each.time_us);
    sums.weights += weight;
    sums.x += weight * each.bytes;
    sums.xx += weight * each.bytes * each.bytes;
    sums.y += weight * each.time_us;
    sums.xy += weight * each.bytes * each.time_us;
  }
  return sums;
}

std::optional<double> rate_of(double us_per_byte) {
  return us_per_byte > 0 ? std::optional(kBitsPerByte / us_per_byte) : std::nullopt;
}

}  // namespace

Fit fit(std::span<const Timed> sizes) {
  const Sums sums = sums_of(sizes);
  const double spread = sums.weights * sums.xx - sums.x * sums.x;
  if (!(spread > 1e-9 * sums.weights * sums.xx)) {
    return {};
  }
  const double slope = (sums.weights * sums.xy - sums.x * sums.y) / spread;
  const double start = (sums.y - slope * sums.x) / sums.weights;
  if (start < 0) {
    return {.alpha_us = 0, .beta_mbps = rate_of(sums.xy / sums.xx)};
  }
  return {.alpha_us = start, .beta_mbps = rate_of(slope)};
}

}  // namespace chokepoint::probe::collective
