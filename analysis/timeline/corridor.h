// By how much one clock differs from another over time, out of how long packets seemed to take. The
// quickest packets of each way waited nowhere, and so bound the difference:
//
//   time at the second less time at the first
//     ·   ·      ·      ·         packets there: what they took is added
//       ·    ··     ·      ·
//     ─────────────────────────   no packet there lies below
//     - - - - - - - - - - - - -   the offset: the middle, if the way there is as long as that back
//     ─────────────────────────   no packet back lies above
//        ·     ·    ··    ·       packets back: what they took is taken off
//     ·     ·     ·     ·     ·
//
// The line in the widest corridor is taken, its slope the drift; where no straight corridor is
// wide, because a clock's rate was changed, a broken one. The width is the unloaded round trip.
// Pure.
#pragma once

#include <optional>
#include <vector>

#include "analysis/timeline/one_way_delays.h"

namespace chokepoint::analysis {

// As OneWayDelays: apart from its begin_ns and offset_ns.
struct OffsetKnot {
  double t_ns = 0;
  double offset_ns = 0;
};

struct Corridor {
  std::vector<OffsetKnot> middle = {};  // one where packets tell no drift, else two or more
  double width_ns = 0;                  // where it is widest
  double noise_ns = 0;     // how far parts of the run, each by itself, usually lie from the middle
  bool is_closed = false;  // somewhere packets contradict each other
  bool has_drift = false;  // packets tell one: they were many enough, for long enough
};

// Nothing where packets went one way only, or there are none.
std::optional<Corridor> widest_corridor(const OneWayDelays& delays);

// For packets of one way: the other is taken to be as quick, by a round trip known otherwise.
std::optional<Corridor> half_corridor(const OneWayDelays& delays, double round_trip_ns);

}  // namespace chokepoint::analysis
