// What was exchanged in each of a run's steps: by the library's own messages if a node recorded
// them, else by packets between the job's hosts. Pure; any thread.
#pragma once

#include <span>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/phases/rounds.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

// When a node's samples were read, on the common clock; empty where all were.
Spans read_windows(const RunData& run, const Clocks& clocks, std::size_t node);

// Fills in bytes and is_read of units that are in order, on the common clock.
void fill_in_bytes(const RunData& run, const Clocks& clocks, std::span<StepUnit> units);

}  // namespace chokepoint::analysis
