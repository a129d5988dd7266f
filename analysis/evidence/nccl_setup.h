// What NCCL's own log says of how ranks are connected, where there is a better way that the log
// shows, too. Pure.
#pragma once

#include <vector>

#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

std::vector<Claim> claims_of_nccl_setup(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
