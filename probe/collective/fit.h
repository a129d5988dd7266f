// Time over size as latency and bandwidth: t = α + bytes / β, by least squares of what each size is
// off by in proportion to its time, so that small sizes count as much as large ones. Pure.
#pragma once

#include <optional>
#include <span>

namespace chokepoint::probe::collective {

struct Timed {
  double bytes = 0;
  double time_us = 0;
};

struct Fit {
  std::optional<double> alpha_us = {};
  std::optional<double> beta_mbps = {};  // of the algorithm's bandwidth
};

// Nothing where one size alone cannot tell. Latency is never below 0.
Fit fit(std::span<const Timed> sizes);

}  // namespace chokepoint::probe::collective
