// The quickest packets of one way, a few for each part of the run: what bounds how far two clocks
// are apart. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/timeline/one_way_delays.h"

namespace chokepoint::analysis {

// A slope is how much more a packet seems to take a nanosecond later, because of the clocks alone.

// The usual slope between the quickest packets of all parts, of the one way and of the other;
// 0 where there are too few.
double usual_slope(const OneWayDelays& delays);

// The quickest of each of so many parts of the run, in the order of time. A few that were quicker
// than all others by far are left out: not both ends saw the same copy of the packet.
std::vector<OneWayDelay> floor_of(const std::vector<OneWayDelay>& delays, double slope,
                                  double length_ns, std::size_t parts);

// The least delay, of what is left when the slope is taken off.
double least(std::span<const OneWayDelay> delays, double slope);

}  // namespace chokepoint::analysis
