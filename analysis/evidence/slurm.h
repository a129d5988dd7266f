// Slurm's accounts of a job: "sacct --json", or "sacct -P" (also --parsable) with any columns
// among which JobID and State are. Times without a zone are those of this machine's zone.
#pragma once

#include <string>
#include <string_view>

#include "analysis/evidence/tool_file.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<ToolFile> read_slurm(std::string_view text, const std::string& file);

}  // namespace chokepoint::analysis
