// The diagnosis of a run of which there is no record, by traces of a profiler: where the time of a
// step goes, which rank arrives late and why, and how much communication computing does not hide.
// No trace shows what limits communication, so such a verdict stays `unknown`. Pure.
#pragma once

#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/evidence/tool_file.h"

namespace chokepoint::analysis {

// Nothing where there is no trace with steps. A verdict about a failure or a hang that other files
// gave is left as it is, and one about the way that NCCL goes where communication is what takes
// the time.
void judge_traces(const std::vector<ToolFile>& files, const RunData& run,
                  const DiagnoseOptions& options, Inquiry& inquiry);

}  // namespace chokepoint::analysis
