// Steps from pauses between collectives that are all alike, whose cycle is therefore not seen: the
// buckets of a step follow each other at once, and before the first of them the rank computes.
//
//   pause  c c c c  pause  c c c c  pause  c c c c      every fourth pause has nearly all the time
//
// A pure function.
#pragma once

#include <vector>

#include "base/record/samples.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

// `collectives`: of one rank in one group, in the order in which they began. Empty where pauses
// have no order, or where each collective has a pause before it.
std::vector<Step> steps_between_pauses(const std::vector<record::Collective>& collectives);

}  // namespace chokepoint::capture::step
