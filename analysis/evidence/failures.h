// Which rank failed first, by a job's logs together. Ranks that wait for a failed rank fail, too,
// some of them long before torchrun notices the first failure. So a failure that follows from
// another, such as a time-out or a lost connection, is not the cause while there is one that does
// not follow. If all reported failures follow from another, the cause is the rank that reports
// none. Pure.
#pragma once

#include <vector>

#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

std::vector<Claim> claims_of_failures(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
