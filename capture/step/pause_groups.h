// How many collectives make a step, where all are alike and their cycle is therefore not seen: the
// buckets of a step follow each other at once, and before the first of them the rank computes.
//
//   pause  c c c c  pause  c c c c  pause  c c c c      every fourth pause has nearly all the time
//
// A pure function.
#pragma once

#include <cstddef>
#include <vector>

namespace chokepoint::capture::step {

struct PauseGroups {
  std::size_t size = 1;  // collectives from one long pause to the next; 1: pauses have no order
  double pause = 0;      // the mean of the long ones, each no longer than is counted of it
};

// The largest groups for which that is so. `pauses`: before each collective, in their order.
PauseGroups pause_groups(std::vector<double> pauses);

}  // namespace chokepoint::capture::step
