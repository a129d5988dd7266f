// Where a graph of waits ends: its components without an edge that leaves them, for which some rank
// waits. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace chokepoint::analysis {

// `edges`: from each node to those that it waits for. A component of several nodes is a cycle.
std::vector<std::vector<std::uint32_t>> sinks_of(const std::vector<std::set<std::uint32_t>>& edges);

}  // namespace chokepoint::analysis
