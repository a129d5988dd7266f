// Whose the time is that a limit held a direction up, as which verdict it counts, and how much of
// it a change could take away. Pure.
#pragma once

#include "analysis/attribution/charges.h"

namespace chokepoint::analysis {

// Fills in account, verdict, cause and what is removable.
void judge_charge(const DiagnosisInput& input, Limit limit, Charge& charge);

}  // namespace chokepoint::analysis
