// Samples between the windows of a large run, for drawing all of it: load_run() reads nothing
// there. Short spans at equal distances add readings of what only grows (bytes acknowledged, time
// busy) and of levels, so that means between two spans are exact, without reading much. On as many
// threads as there are cores; the caller waits.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct OverviewLimits {
  std::size_t spans = 240;         // at hosts' series, over the whole run; half as many at sockets
  std::size_t rows_of_span = 120;  // of one table, about
};

// Adds to the run's nodes; does nothing if all was read.
void add_overview(record::Run& records, RunData& run, const OverviewLimits& limits = {});

}  // namespace chokepoint::analysis
