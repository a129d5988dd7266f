// Documents of probes, RDMA tests, probe collective and trials as runs of a comparison: their
// requested settings become labels, their main results become figures. Documents are not trusted.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/compare/compared_run.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// What a file may have: trials of thousands of rounds are some megabytes.
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{64} << 20;

// Whether documents of that schema can be compared.
bool is_comparable(std::string_view schema);

// One run, or of chokepoint.trials/1 one for each trial. `name` is where it came from: the runs'
// path and folder. The Error names it.
Result<std::vector<ComparedRun>> runs_of_document(std::string_view text, const std::string& name);

}  // namespace chokepoint::analysis
