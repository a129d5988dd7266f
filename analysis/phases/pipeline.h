// What a pipeline is, as its messages tell it, and what a step of it takes without a network.
#pragma once

#include <optional>

#include "analysis/phases/exchanges.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct PipelineView {
  double stages = 0;
  double batches = 0;        // micro-batches a step
  double thought_ns = 0;     // of a stage for one of them, there and back
  double message_bytes = 0;  // the usual one's
  bool is_forward_only = false;

  double ideal_step_ns() const { return (batches + stages - 1) * thought_ns; }
};

// Empty where the messages do not look like a pipeline's.
std::optional<PipelineView> pipeline_of(const Exchanges& exchanges, const Spans& steps);

// What the step would take if messages took no time: micro-batches times what a stage thinks for
// each, and the filling of the pipeline. Empty where the messages do not look like a pipeline's.
std::optional<double> ideal_step_ns(const Exchanges& exchanges, const Spans& steps);

}  // namespace chokepoint::analysis
