// Which stage of a pipeline was late, as its messages tell it.
#pragma once

#include <vector>

#include "analysis/phases/exchanges.h"
#include "analysis/phases/lateness.h"

namespace chokepoint::analysis {

std::vector<Late> late_senders(const Exchanges& exchanges, std::span<const Meeting> meetings);

}  // namespace chokepoint::analysis
