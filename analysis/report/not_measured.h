// What a report cannot tell and why: what the records lack for the verdict, what could not be seen
// of the hosts, what nobody asked before the run, what was left out to keep the page small. Lines
// for people; pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace chokepoint::analysis {

std::vector<std::string> not_measured(const RunData& run, const Report& report);

}  // namespace chokepoint::analysis
