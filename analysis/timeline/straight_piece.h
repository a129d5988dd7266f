// A piece of a corridor (corridor.h) in which one straight line leads through it. Spans borrow the
// quickest packets, which are in the order of time. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "analysis/timeline/one_way_delays.h"

namespace chokepoint::analysis {

using Delays = std::span<const OneWayDelay>;

// The quickest packets of both ways in one span of time.
struct Floors {
  Delays there = {};
  Delays back = {};
  std::size_t least() const { return std::min(there.size(), back.size()); }
  Floors within(double begin_ns, double end_ns) const;  // without those of end_ns itself
};

struct Line {
  double slope = 0;
  double offset_ns = 0;  // at t_ns 0
  double width_ns = 0;   // of the corridor, as far as it has this slope
  double at(double t_ns) const { return offset_ns + slope * t_ns; }
};

struct Piece {
  double begin_ns = 0;
  double end_ns = 0;
  Floors floors = {};
  Line line = {};
  bool has_slope = false;  // 0 is not for want of packets
};

// Whether so many of the quickest packets, over so long, tell how clocks drift.
bool tells_drift(double length_ns, std::size_t floor);

Line line_of(const Floors& floors, double slope);
// With the line in the widest corridor. `floors` may have more than this span's.
Piece piece_of(double begin_ns, double end_ns, const Floors& floors);

}  // namespace chokepoint::analysis
