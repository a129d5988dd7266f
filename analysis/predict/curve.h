// All-reduce as it was measured between these hosts: time over size, or latency and bandwidth
// fitted to it. Read from a chokepoint.collective/1 document. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::analysis {

struct CurvePoint {
  double bytes = 0;
  double ms = 0;
};

struct Curve {
  std::string backend = {};
  std::int64_t ranks = 0;               // 0: the document does not say
  std::vector<CurvePoint> points = {};  // by size
  std::optional<double> alpha_ms = {};  // of the fit
  std::optional<double> beta_mbps = {};
};

Result<Curve> parse_curve(std::string_view json, std::string_view name);

// Straight lines between sizes. Below the least size its time, since latency is what counts there;
// above the largest at its bandwidth. Without sizes by the fit.
double time_ms(const Curve& curve, double bytes);

}  // namespace chokepoint::analysis
