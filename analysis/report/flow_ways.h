// What one direction of a connection came to, from whichever of its ends knows. Pure functions.
#pragma once

#include "analysis/report/flow_table.h"

namespace chokepoint::analysis {

std::optional<std::int64_t> optional_of(record::Figure figure);

// All but what needs the connection's life or what held it back.
FlowWay flow_way(const RunData& run, const DirectionView& view);

// What the congestion window lets out; where the sample does not know the segment's size, of the
// usual one.
std::optional<std::int64_t> cwnd_bytes(const record::SocketSample& sample,
                                       std::optional<std::int64_t> usual_mss);

bool has_samples(const DirectionView& view);

}  // namespace chokepoint::analysis
