// Which direction of which connection limited the job while it communicated, and by which limit.
// At each moment it is the direction with most data under way: the others wait for it, since the
// library hands out the next piece only when the last one has come. Values; pure functions; any
// thread.
#pragma once

#include <span>
#include <vector>

#include "analysis/limits/direction.h"
#include "analysis/limits/exchanging.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

struct DirectionLimits {
  DirectionView view = {};
  DirectionFacts facts = {};
  LimitTimes held = {};  // of the communication, while this direction was the busiest
  LimitTimes busy = {};  // of the communication, at all
  double rate_mbps = 0;  // of payload, while it was busy
};

// The direction that held up a moment of the communication, and by what.
struct HeldMoment {
  Span span = {};             // on the common clock
  std::size_t direction = 0;  // in LimitTimeline::directions
  LimitTimes times = {};
};

struct LimitTimeline {
  std::vector<DirectionLimits> directions = {};
  std::vector<HeldMoment> moments = {};  // in order
  double idle_ns = 0;                    // of the communication, in which nothing was under way
};

// `communicating`: on the common clock; see Phases.
LimitTimeline limit_timeline_of(const RunData& run, const Clocks& clocks,
                                std::span<const Span> communicating);

// The limits of one direction from packets alone, if the sender's sockets were not seen: what was
// in flight against the window that the receiver announced, what was retransmitted, and how the
// round trip grew. Times are those of the node whose packets they are.
std::vector<LimitedSpan> limits_of_packets(const std::vector<record::FlowSample>& samples,
                                           const DirectionFacts& facts);

// The limits of one direction by the kernel of the sender, reading by reading:
//
//   busy = receive window + send buffer (the kernel's own stopwatches) + the network
//
// The network's part is judged by the congestion window, the queues and the round trip at the
// moment. Times are those of the sender's node.
std::vector<LimitedSpan> limits_of_sender(const std::vector<record::SocketSample>& samples,
                                          const DirectionFacts& facts);

}  // namespace chokepoint::analysis
