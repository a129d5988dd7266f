// Conclusions from benchmarks of collectives alone: the bus bandwidth that they reached, the time
// without data and for each byte, sizes at which they are much slower than at the one before, and
// wrong results. Such tables do not show what the network could carry. Pure.
#pragma once

#include <vector>

#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

std::vector<Claim> claims_of_collectives(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
