// Computing that was none: a sender that gets no processor computes as slowly as it sends, and in
// the phases both look like its thinking. What its thread waited for a processor is the host's. Of
// a receiver that is not so: it may wait while nothing is asked of it. Pure.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Moves time from computing to a sending host that is among the findings already.
void add_starvation(const DiagnosisInput& input, Findings& findings);

}  // namespace chokepoint::analysis
