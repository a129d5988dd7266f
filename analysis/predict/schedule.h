// When a step's exchanges are over: one after the other on the network, none before it is ready.
//
//   finish_i = max(ready_i, finish_{i−1}) + T_i      exposed = max(0, finish_last − end of
//   computing)
//
// Pure functions.
#pragma once

#include <functional>
#include <vector>

#include "analysis/predict/exchange.h"

namespace chokepoint::analysis {

struct Outcome {
  double communication_ms = 0;  // hidden or not
  double exposed_ms = 0;
};

// `overlap`: how much of the computing that is left when an exchange is ready may go on beside it;
// 0: communication waits for the end of all computing, 1: none waits.
Outcome schedule(const std::vector<PlannedExchange>& exchanges, double compute_ms, double overlap,
                 const std::function<double(const PlannedExchange&)>& time_ms);

}  // namespace chokepoint::analysis
