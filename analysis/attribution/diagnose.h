// From what the records of a run hold to what is said of it: accounts for the time of each step,
// splits what communication cost by what limited it, and names the largest part that a change could
// take away. Pure: the same data give the same diagnosis. Any thread.
#pragma once

#include "analysis/attribution/diagnosis.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct DiagnoseOptions {
  double wan_rtt_ms = 2;  // a path is wide-area from this unloaded round trip on
};

Diagnosis diagnose(const RunData& run, const DiagnoseOptions& options = {});

}  // namespace chokepoint::analysis
