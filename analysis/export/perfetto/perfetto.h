// A run as a Perfetto trace: a process per rank with its steps, collectives, waiting and
// connections, and a process per node with its host's counters, all on one clock. The caller's
// thread.
#pragma once

#include "analysis/export/exported_run.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

struct TraceFigures {
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;  // spans that overlap too many others
};

// out.finish() returns its Error.
TraceFigures write_perfetto(ExportedRun& run, cli::Output& out);

}  // namespace chokepoint::analysis
