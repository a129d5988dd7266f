// Steps of a run of which there is no record, by the times in its log: how many, how long, and what
// is unusual, as evidence of a verdict that stays `unknown`. Pure.
#pragma once

#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "analysis/evidence/claims.h"
#include "analysis/evidence/tool_file.h"

namespace chokepoint::analysis {

// Nothing where steps are known already, as from traces.
void add_printed_steps(const std::vector<ToolFile>& files, const std::vector<Claim>& claims,
                       Diagnosis& diagnosis);

}  // namespace chokepoint::analysis
