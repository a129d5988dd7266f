// Where a record is too large to be read whole, load_run() reads windows and nothing between them.
// Somebody who draws the whole run wants to see what lies between, too: short looks at even
// distances add readings of what only grows (bytes acknowledged, time busy) and of levels, so that
// means between two looks are exact, without reading much. On as many threads as there are cores;
// the caller waits.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct OverviewLimits {
  std::size_t looks = 240;         // at hosts' series, over the whole run; half as many at sockets
  std::size_t rows_of_look = 120;  // of one table, about
};

// Adds to what the run's nodes hold; nothing where all was read.
void add_overview(record::Run& records, RunData& run, const OverviewLimits& limits = {});

}  // namespace chokepoint::analysis
