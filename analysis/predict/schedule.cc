#include "analysis/predict/schedule.h"

#include <algorithm>

namespace chokepoint::analysis {

Outcome schedule(const std::vector<PlannedExchange>& exchanges, double compute_ms, double overlap,
                 const std::function<double(const PlannedExchange&)>& time_ms) {
  Outcome outcome;
  double finish_ms = 0;
  for (const PlannedExchange& exchange : exchanges) {
    const double left_ms = compute_ms - std::min(exchange.ready_ms, compute_ms);
    const double length_ms = time_ms(exchange) * exchange.times;
    finish_ms = std::max(finish_ms, compute_ms - overlap * left_ms) + length_ms;
    outcome.communication_ms += length_ms;
  }
  outcome.exposed_ms = std::max(0.0, finish_ms - compute_ms);
  return outcome;
}

}  // namespace chokepoint::analysis
