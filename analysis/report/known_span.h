// Of what time a node's record tells. One that lost its sessions has no end of its own: then it is
// the time of what it holds. Pure.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// By the node's own clock; of no length where it holds nothing.
Span known_span(const NodeData& node);

}  // namespace chokepoint::analysis
