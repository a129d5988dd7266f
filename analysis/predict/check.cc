#include "analysis/predict/check.h"

#include <algorithm>
#include <cmath>

#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::analysis {

std::optional<double> Beside::error_percent() const {
  if (measured <= 0) return std::nullopt;
  return (predicted / measured - 1) * math::kPercent;
}

JobProfile without_outcome(const JobProfile& profile) {
  JobProfile bare = profile;
  bare.step_ms = 0;
  bare.exposed_ms = 0;
  return bare;
}

Target on_network_of(const JobProfile& run, Target target) {
  PathProfile& path = target.path;
  if (!path.rate_mbps && !path.payload_mbps && !target.curve) {
    path.rate_mbps = run.path.rate_mbps;
    path.payload_mbps = run.path.payload_mbps;
  }
  path.rtt_ms = path.rtt_ms ? path.rtt_ms : run.path.rtt_ms;
  path.loss = path.loss ? path.loss : run.path.loss;
  path.window_bytes = path.window_bytes ? path.window_bytes : run.path.window_bytes;
  target.ranks = run.ranks;
  target.nodes = run.nodes;
  return target;
}

CheckFigures figures_of(const std::vector<CheckedStep>& steps) {
  std::vector<double> errors;
  double within = 0;
  for (const CheckedStep& step : steps) {
    if (const auto error = step.step_ms.error_percent()) errors.push_back(std::abs(*error));
    const double measured_ms = step.step_ms.measured;
    within += step.low_ms <= measured_ms && measured_ms <= step.high_ms ? 1 : 0;
  }
  CheckFigures figures{.count = steps.size(),
                       .median_error_percent = math::median(errors),
                       .p90_error_percent = math::quantile(errors, 0.9)};
  if (!steps.empty()) {
    figures.within_percent = within / static_cast<double>(steps.size()) * math::kPercent;
  }
  return figures;
}

}  // namespace chokepoint::analysis
