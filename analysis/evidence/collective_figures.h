// What benchmarks of collectives say by themselves: the bus bandwidth that they reached, how long
// no bytes and each further byte take, sizes at which they are much slower than at the one before,
// and wrong results. What the network could carry is in no such table. Pure.
#pragma once

#include <vector>

#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

std::vector<Claim> claims_of_collectives(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
