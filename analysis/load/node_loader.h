// One node's record into memory, but for its samples. The caller's thread; nodes may be loaded on
// several at once, each with its own Reader.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Flows and series are sorted by their ids.
NodeData load_node(record::Reader& reader);

}  // namespace chokepoint::analysis
