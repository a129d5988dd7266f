// The hosts of a job in the record of a capture. `chokepoint capture --record` writes one record of
// what passed one point; a run has a record of each host. So that the rest of the analysis sees a
// run in both cases, this makes a node of each host that the capture shows:
//
//   record of a capture ─┬─▶ the captured host: its connections with all packets, its collectives
//                        ├─▶ a peer: its collectives, as far as they were exchanged with that host;
//                        └─▶ a peer  its connections without packets (NodeData::is_inferred)
//
// If a host was captured itself, its own capture is used and not the view of another capture.
// Ranks are counted in the order of addresses, since the job's own are not in packets. The
// caller's thread.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Whether the run is known by packets alone.
bool is_captured(const RunData& run);

// Records of other commands stay as they are.
void separate_captured_hosts(RunData& run);

}  // namespace chokepoint::analysis
