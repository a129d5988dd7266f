// Moments of a run worth a look: the steps in which the verdict's cost shows most, and what
// happened to the nodes. Pure.
#pragma once

#include "analysis/report/timeline.h"

namespace chokepoint::analysis {

// In order. What was left out beyond `most` events is told in `remarks`.
std::vector<Moment> moments_of(const RunData& run, const Inquiry& inquiry,
                               const std::vector<StepAccounts>& steps, std::size_t most,
                               std::vector<std::string>& remarks);

}  // namespace chokepoint::analysis
