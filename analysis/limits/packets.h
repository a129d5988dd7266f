// The same from packets alone, where the sender's sockets were not seen: what was in flight against
// the window that the receiver announced, what was sent again, and how the round trip grew. Times
// are those of the node whose packets they are.
#pragma once

#include <vector>

#include "analysis/limits/direction.h"
#include "analysis/limits/limit.h"

namespace chokepoint::analysis {

std::vector<LimitedSpan> limits_of_packets(const std::vector<record::FlowSample>& samples,
                                           const DirectionFacts& facts);

}  // namespace chokepoint::analysis
