// Where each step's burst begins, given how long a step is about: the way through the traffic's
// rises that takes the steepest ones, and whose distances are close to the period. Steps may differ
// from each other; a burst inside a step is passed over; where there is no traffic there is no
// burst. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/step/binned_traffic.h"

namespace chokepoint::capture::step {

// The level of bins by which steps of this length are seen.
std::size_t level_of(double period_ns);

// In order of time.
std::vector<std::int64_t> burst_begins(const BinnedTraffic& traffic, double period_ns,
                                       std::int64_t since_ns);

}  // namespace chokepoint::capture::step
