// Which pairs of nodes lead each node to one of them with the least error: the shortest paths, by
// the errors of the pairs' clocks. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "analysis/timeline/clock_link.h"

namespace chokepoint::analysis {

using ClockLinks = std::map<NodePair, ClockLink>;  // of every two nodes

struct ClockTree {
  std::vector<std::size_t> parents = {};  // the root is its own
  std::vector<std::size_t> order = {};    // parents before those below them
};

ClockTree surest_tree(const ClockLinks& links, std::size_t nodes, std::size_t root);

}  // namespace chokepoint::analysis
