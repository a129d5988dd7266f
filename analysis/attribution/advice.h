// What to change, with the command to type, and what would show that the verdict is wrong.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

void advise(const DiagnosisInput& input, Verdict& verdict);

}  // namespace chokepoint::analysis
