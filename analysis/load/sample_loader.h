// The samples of one node: to their flows and series, the others in order. The caller's thread.
#pragma once

#include "analysis/load/sample_plan.h"

namespace chokepoint::analysis {

// Needs the node's span.
void load_steps(record::Reader& reader, NodeData& node);

// Needs flows and series.
void load_samples(record::Reader& reader, const SamplePlan& plan, NodeData& node);

}  // namespace chokepoint::analysis
