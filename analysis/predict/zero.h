// ZeRO: data parallelism whose ranks each keep a part of the optimizer's state (1), of the
// gradients (2), of the parameters (3). Ψ is the parameters' bytes. Pure functions.
#pragma once

#include <vector>

#include "analysis/predict/exchange.h"

namespace chokepoint::analysis {

// Stages 1 and 2: gradients are reduce-scattered in buckets during the backward pass, and the new
// parameters gathered after it: 2Ψ(n−1)/n a rank. Stage 3: parameters are gathered for the forward
// and again for the backward pass, gradients reduce-scattered: 3Ψ(n−1)/n.
std::vector<PlannedExchange> zero_exchanges(int stage, double bytes, double bucket_bytes,
                                            double compute_ms, double forward_ms);

}  // namespace chokepoint::analysis
