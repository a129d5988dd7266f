// The timeline and what belongs to it as JSON; docs/report.md tells each field. Pure functions.
#pragma once

#include "analysis/report/step_bars.h"
#include "analysis/report/timeline.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

cli::Json timeline_document(const Timeline& timeline);
cli::Json moments_document(const Timeline& timeline);
// Null where no time could be accounted for.
cli::Json accounting_document(const Diagnosis& diagnosis, const std::vector<StepBar>& bars,
                              std::int64_t origin_ns);

}  // namespace chokepoint::analysis
