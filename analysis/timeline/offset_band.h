// By how much one clock differs from another over time, from how long packets seemed to take. The
// quickest packets of each direction waited nowhere, and so bound the difference:
//
//   time at the second less time at the first
//     ·   ·      ·      ·         packets there: what they took is added
//       ·    ··     ·      ·
//     ─────────────────────────   no packet there lies below
//     - - - - - - - - - - - - -   the offset: the middle, if both directions take as long
//     ─────────────────────────   no packet back lies above
//        ·     ·    ··    ·       packets back: what they took is taken off
//     ·     ·     ·     ·     ·
//
// Between both bounds lies a band. The line in the widest band is taken, its slope the drift; where
// no straight band is wide, because a clock's rate was changed, a broken one. The width is the
// unloaded round trip. Values; pure functions; any thread.
#pragma once

#include <optional>
#include <vector>

#include "analysis/timeline/shared_packets.h"

namespace chokepoint::analysis {

// As OneWayDelays: after its begin_ns, on top of its offset_ns.
struct OffsetKnot {
  double t_ns = 0;
  double offset_ns = 0;
};

struct OffsetBand {
  std::vector<OffsetKnot> middle = {};  // one if packets show no drift, else two or more
  double width_ns = 0;                  // where it is widest
  double noise_ns = 0;     // how far parts of the run, each by itself, usually lie from the middle
  bool is_closed = false;  // somewhere packets contradict each other
  bool has_drift = false;  // packets show one: they were many enough, for long enough
};

// nullopt if packets went in one direction only, or there are none.
std::optional<OffsetBand> widest_band(const OneWayDelays& delays);

// For packets of one direction: the other is taken to be as quick, by a round trip known otherwise.
std::optional<OffsetBand> one_way_band(const OneWayDelays& delays, double round_trip_ns);

}  // namespace chokepoint::analysis
