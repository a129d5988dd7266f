// What the kernel of the sender says held it back, reading by reading:
//
//   busy = receive window + send buffer (the kernel's own stopwatches) + the network
//
// and what the network's part was is told by the congestion window, the queues and the round trip
// at the moment. Times are those of the sender's node.
#pragma once

#include <vector>

#include "analysis/limits/direction.h"
#include "analysis/limits/limit.h"

namespace chokepoint::analysis {

std::vector<LimitedSpan> limits_of_sender(const std::vector<record::SocketSample>& samples,
                                          const DirectionFacts& facts);

}  // namespace chokepoint::analysis
