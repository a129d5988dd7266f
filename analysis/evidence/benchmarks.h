// What nccl-tests and perftest print, as the documents that this program's own probes write of the
// same, so that ceilings of either source are compared by one piece of code.
#pragma once

#include <string>
#include <string_view>

#include "analysis/evidence/tool_file.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<ToolFile> read_nccl_tests(std::string_view text, const std::string& file);
Result<ToolFile> read_perftest(std::string_view text, const std::string& file);

}  // namespace chokepoint::analysis
