// Many files of other tools at once: read on several threads, of which each holds one file, and
// sorted by incident where a folder holds dumps of several. The caller's thread waits for them.
#pragma once

#include <string>
#include <vector>

#include "analysis/evidence/tool_file.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// In the order of `paths`.
std::vector<Result<ToolFile>> read_tool_files(const std::vector<std::string>& paths);

// Dumps of one rank that were written minutes apart are of several incidents: only those of the
// newest are left, and each other one is among the troubles.
void keep_newest_incident(std::vector<ToolFile>& files, std::vector<Error>& troubles);

}  // namespace chokepoint::analysis
