// How long the way to another node and back takes where nothing waits, as connections between the
// two tell it. Pure; any thread.
#pragma once

#include <optional>

#include "analysis/load/run_data.h"
#include "analysis/timeline/shared_packets.h"

namespace chokepoint::analysis {

// The least that the kernels or the packets of either end saw; nothing where neither did.
std::optional<double> least_round_trip_ns(const RunData& run, NodePair pair);

}  // namespace chokepoint::analysis
