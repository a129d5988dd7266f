// Joins what the nodes saw of the same connections. The caller's thread.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Turns the flows of a second end round, so that a and b are the same ends in both.
void join_connections(RunData& run);

}  // namespace chokepoint::analysis
