// A connection's totals where the record has none yet: they are written when a connection is over,
// which one of a job that goes on, or that was killed, is not. Pure.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// From packets, else from the sender's own counters; a total that is known stays.
void complete_totals(FlowData& flow);

}  // namespace chokepoint::analysis
