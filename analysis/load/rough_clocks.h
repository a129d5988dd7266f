// How far the nodes' clocks are apart, good enough to read the same moments of their records: to
// about the tenth of a second that it may take until a connection is noticed. timeline/clocks.h
// knows better, from what was read. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Of each node, its clock less the first node's.
std::vector<std::int64_t> rough_offsets(const std::vector<NodeData>& nodes);

}  // namespace chokepoint::analysis
