// A run as a Perfetto trace: a process a rank with its steps, collectives, waiting and connections,
// a process a node with what its host counted, all on one clock. The caller's thread.
#pragma once

#include "analysis/export/exported_run.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

struct TraceFigures {
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;  // spans that overlap more others than there may be tracks
};

// What it fails by is told by out.finish().
TraceFigures write_perfetto(ExportedRun& run, cli::Output& out);

}  // namespace chokepoint::analysis
