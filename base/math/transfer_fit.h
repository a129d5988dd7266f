// How long a transfer of some bytes takes, as a start and a rate: time = α + bytes / β, fitted to
// what was measured of several sizes. Pure.
#pragma once

#include <optional>
#include <span>

namespace chokepoint::math {

struct TimedSize {
  double bytes = 0;
  double time_us = 0;
};

// Time over size as latency and bandwidth: t = α + bytes / β.
struct TransferFit {
  std::optional<double> alpha_us = {};
  std::optional<double> beta_mbps = {};  // of the algorithm's bandwidth
};

// By least squares of the relative errors, so that small sizes weigh as much as large ones. Empty
// for a single size. Latency is never below 0.
TransferFit fit_transfer(std::span<const TimedSize> sizes);

}  // namespace chokepoint::math
