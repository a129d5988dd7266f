// Which direction of which connection held the job back while it communicated, and by what. At each
// moment it is the one that had most under way: the others wait for it, since the library hands out
// the next piece only when the last one has come.
#pragma once

#include <span>
#include <vector>

#include "analysis/limits/direction.h"
#include "analysis/limits/limit.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

struct DirectionBlame {
  DirectionView view = {};
  DirectionFacts facts = {};
  LimitTimes held = {};  // of the communication, while this direction was the busiest
  LimitTimes busy = {};  // of the communication, at all
  double rate_mbps = 0;  // of payload, while it was busy
};

// Of a moment of the communication the direction that held it up, and by what.
struct HeldMoment {
  Span span = {};             // on the common clock
  std::size_t direction = 0;  // in Blame::directions
  LimitTimes times = {};
};

struct Blame {
  std::vector<DirectionBlame> directions = {};
  std::vector<HeldMoment> moments = {};  // in order
  double idle_ns = 0;                    // of the communication, in which nothing was under way
};

// `communicating`: on the common clock; see Phases.
Blame blame_of(const RunData& run, const Clocks& clocks, std::span<const Span> communicating);

}  // namespace chokepoint::analysis
