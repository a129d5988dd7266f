// The interfaces of a host out of its facts. Pure functions.
#pragma once

#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// In the order in which the facts name them.
std::vector<Interface> interfaces_of(const std::vector<record::Fact>& facts);

}  // namespace chokepoint::analysis
