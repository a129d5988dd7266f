// Those of a host's facts that a job's speed may hang on: how TCP, its interfaces and its cores are
// set. Pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// `interfaces`: those that the job used.
std::vector<record::Fact> tuning_facts(const NodeData& node,
                                       const std::vector<std::string>& interfaces);

}  // namespace chokepoint::analysis
