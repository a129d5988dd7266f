// What people should know of clocks that are known badly. Pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/timeline/clock_link.h"

namespace chokepoint::analysis {

// Of one node's clock and that of the one it was led to; empty where nothing is amiss.
std::vector<std::string> remarks_on(const ClockLink& link, const NodeData& first,
                                    const NodeData& second);

}  // namespace chokepoint::analysis
