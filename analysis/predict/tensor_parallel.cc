#include "analysis/predict/tensor_parallel.h"

namespace chokepoint::analysis {

std::vector<PlannedExchange> tensor_exchanges(const Shape& shape, double compute_ms) {
  constexpr double kEachLayer = 4;
  return {{.collective = Collective::AllReduce,
           .bytes = shape.activations() / shape.micro_batches,
           .ready_ms = compute_ms,
           .times = kEachLayer * shape.layers * shape.micro_batches}};
}

}  // namespace chokepoint::analysis
