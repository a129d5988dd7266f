// NCCL's plugin tells for a share of the time when a rank came to a collective, as it costs the job
// something. Between these moments a collective may have begun at any time since it was asked for.
// Pure.
#pragma once

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

// When collectives went on of which some rank's arrival is not known; on the common clock, united.
Spans untold_arrivals(const RunData& run, const Clocks& clocks);

}  // namespace chokepoint::analysis
