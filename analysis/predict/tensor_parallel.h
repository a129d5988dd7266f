// Tensor parallelism as Megatron-LM has it: each rank holds a part of every layer. A pure function.
#pragma once

#include <vector>

#include "analysis/predict/exchange.h"
#include "analysis/predict/shape.h"

namespace chokepoint::analysis {

// Two all-reduces of b·s·h a layer forward and two backward, each of which the next layer waits
// for: 8bsh(t−1)/t elements a layer, rank and micro-batch.
std::vector<PlannedExchange> tensor_exchanges(const Shape& shape, double compute_ms);

}  // namespace chokepoint::analysis
