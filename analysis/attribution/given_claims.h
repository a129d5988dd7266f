// Claims of other tools' files beside a diagnosis, joined with it by the wall clock and by rank.
// Both are shown; a claim that contradicts a verdict lowers the confidence in it and never changes
// its class. A file gives the verdict only where the records name no rank, link or host. Pure.
#pragma once

#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/evidence/claims.h"
#include "analysis/load/run_data.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// What is of the run's time, and an Error for each file that is of another.
std::vector<ToolFile> of_run(const RunData& run, std::vector<ToolFile> all,
                             std::vector<Error>& troubles);

// Into run.nodes[].probes those that were measured, as --ceiling does.
void add_ceilings(RunData& run, const std::vector<ToolFile>& all, std::vector<Error>& troubles);

void hold_against(const std::vector<Claim>& claims, const RunData& run,
                  const DiagnoseOptions& options, Inquiry& inquiry);

}  // namespace chokepoint::analysis
