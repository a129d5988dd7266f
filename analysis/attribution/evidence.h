// The numbers that a finding rests on, each with the rows that it came from, and what would show
// that it is wrong.
#pragma once

#include "analysis/attribution/route.h"
#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Of a direction that was held back.
void add_evidence(const DiagnosisInput& input, const DirectionBlame& direction, const Route& route,
                  Verdict& verdict);

}  // namespace chokepoint::analysis
