#include "analysis/timeline/straight_piece.h"

#include "analysis/timeline/delay_floor.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kLeastForSlope = 4;
constexpr double kLeastSpan = 1e9;  // ns; over less no drift shows
constexpr double kMostSlope = 600e-6;
constexpr int kSearches = 40;
constexpr double kGolden = 0.6180339887498949;

Delays from_until(Delays delays, double begin_ns, double end_ns) {
  const auto begin = std::ranges::lower_bound(delays, begin_ns, {}, &OneWayDelay::t_ns);
  const auto end = std::ranges::lower_bound(delays, end_ns, {}, &OneWayDelay::t_ns);
  return {begin, std::max(begin, end)};
}

Line wider(const Line& one, const Line& other) {
  return one.width_ns >= other.width_ns ? one : other;
}

// The width is the least of many lines over the slope, so it has one top.
Line widest(const Floors& floors, double from, double to) {
  Line low = line_of(floors, to - kGolden * (to - from));
  Line high = line_of(floors, from + kGolden * (to - from));
  for (int i = 0; i < kSearches; ++i) {
    if (low.width_ns >= high.width_ns) {
      to = high.slope;
      high = low;
      low = line_of(floors, to - kGolden * (to - from));
    } else {
      from = low.slope;
      low = high;
      high = line_of(floors, from + kGolden * (to - from));
    }
  }
  return wider(low, high);
}

}  // namespace

Floors Floors::within(double begin_ns, double end_ns) const {
  return {from_until(there, begin_ns, end_ns), from_until(back, begin_ns, end_ns)};
}

bool tells_drift(double length_ns, std::size_t floor) {
  return length_ns >= kLeastSpan && floor >= kLeastForSlope;
}

Line line_of(const Floors& floors, double slope) {
  const double there = least(floors.there, slope);
  const double back = least(floors.back, -slope);
  return {slope, (there - back) / 2, there + back};
}

Piece piece_of(double begin_ns, double end_ns, const Floors& floors) {
  Piece piece{.begin_ns = begin_ns, .end_ns = end_ns, .floors = floors};
  piece.has_slope = tells_drift(end_ns - begin_ns, floors.least());
  piece.line = piece.has_slope ? widest(floors, -kMostSlope, kMostSlope) : line_of(floors, 0);
  return piece;
}

}  // namespace chokepoint::analysis
