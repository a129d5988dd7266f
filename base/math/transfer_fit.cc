#include "base/math/transfer_fit.h"

#include "base/math/units.h"

namespace chokepoint::math {
namespace {

// The weighted sums of the normal equations; x is bytes, y is time, the weight is 1/y².
struct Sums {
  double weights = 0;
  double x = 0;
  double xx = 0;
  double y = 0;
  double xy = 0;
};

Sums sums_of(std::span<const TimedSize> sizes) {
  Sums sums;
  for (const TimedSize& each : sizes) {
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
  return us_per_byte > 0 ? std::optional(kBits / us_per_byte) : std::nullopt;
}

}  // namespace

TransferFit fit_transfer(std::span<const TimedSize> sizes) {
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

}  // namespace chokepoint::math
