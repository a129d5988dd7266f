// What communication cost, by what limited it, and a verdict for each way in which the network, or
// a host at its end, held the job back.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

Findings network_findings(const DiagnosisInput& input);

}  // namespace chokepoint::analysis
