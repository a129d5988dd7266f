// What a preflight measured beside throughput, a line each: round trips, loss, the largest packet,
// clocks, RDMA, cuts, the collective. Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "preflight/result/measured.h"

namespace chokepoint::preflight {

using SummaryLine = std::pair<std::string, std::string>;  // "round trip", "0.08 ms …"

// Nothing of what was not measured.
std::vector<SummaryLine> summary_of(const Measured& measured);

// "gpu4 to gpu7 | gpu0 to gpu3": hosts that stand next to each other together.
std::string hosts_in_words(const Measured& measured, const std::vector<HostIndex>& hosts);

}  // namespace chokepoint::preflight
