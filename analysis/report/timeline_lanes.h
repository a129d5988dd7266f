// What ranks did one after the other, on the common clock, for a page's lanes. Pure.
#pragma once

#include "analysis/report/timeline.h"

namespace chokepoint::analysis {

// Beyond `most` several stand as one: as many of them as are needed.
ShownSteps shown_steps(const StepLine& steps, std::size_t most);

// By node: its steps, its collectives, and how long others waited for it.
std::vector<Lane> lanes_of(const RunData& run, const Inquiry& inquiry,
                           const TimelineLimits& limits);

// In order and apart. Of more than `most` those are one that have the shortest pauses between them.
std::vector<Span> joined(std::vector<Span> spans, std::size_t most);

}  // namespace chokepoint::analysis
