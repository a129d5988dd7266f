// What a step of a pipeline takes without a network.
#pragma once

#include <optional>

#include "analysis/phases/exchanges.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

// What the step would take if messages took no time: micro-batches times what a stage thinks for
// each, and the filling of the pipeline. Empty where the messages do not look like a pipeline's.
std::optional<double> ideal_step_ns(const Exchanges& exchanges, const Spans& steps);

}  // namespace chokepoint::analysis
