// Which rank failed first, of what jobs' logs say together. Whoever waits for a rank that has
// failed fails too, some of them long before torchrun notices the first: so a failure that follows
// from another's, a time-out or a lost connection, is no reason while there is one that does not.
// Where all told is such, the reason is the rank that tells of none. Pure.
#pragma once

#include <vector>

#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

std::vector<Claim> claims_of_failures(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
