// Connections of ranks in NCCL's own log for which the same log shows a better path. Pure.
#pragma once

#include <vector>

#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

std::vector<Claim> claims_of_nccl_setup(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
