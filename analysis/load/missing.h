// What the records of a run lack for a sure answer. The caller's thread.
#pragma once

#include <string>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// A line each, for people.
std::vector<std::string> missing_of(const RunData& run);

}  // namespace chokepoint::analysis
