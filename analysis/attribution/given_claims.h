// What other tools' files say, beside a diagnosis. They join by the wall clock and by rank. Both
// sides are shown; what contradicts a verdict lowers the confidence in it and never changes its
// class. Only where the records name nobody a file that does gives the verdict. Pure.
#pragma once

#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

// What is of the run's time, and an Error for each file that is of another.
std::vector<ToolFile> of_run(const RunData& run, std::vector<ToolFile> all,
                             std::vector<Error>& troubles);

// Into run.nodes[].probes those that were measured, as --ceiling does.
void add_ceilings(RunData& run, const std::vector<ToolFile>& all, std::vector<Error>& troubles);

void hold_against(const std::vector<Claim>& claims, const RunData& run,
                  const DiagnoseOptions& options, Inquiry& inquiry);

}  // namespace chokepoint::analysis
