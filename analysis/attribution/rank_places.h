// Where the programs of those ranks are that block a job, by the stacks that `run --stacks` left
// in the record (base/record/stacks.h). Pure; any thread.
#pragma once

#include "analysis/attribution/diagnosis.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Of a verdict that the job stands: Where::frame, and evidence of each rank that it names; where it
// names none, of the first ranks that there are. The stacks of a stall that is over do not count.
void add_places(const RunData& run, Verdict& verdict);

}  // namespace chokepoint::analysis
