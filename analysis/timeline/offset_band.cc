#include "analysis/timeline/offset_band.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

// The quickest packets of one direction, a few for each part of the run, bound how far two clocks
// are apart. A slope is how much more a packet seems to take a nanosecond later, because of the
// clocks alone.

// Values of docs/internals/clocks.md, "How packets show the offset"; the numbers of parts and
// searches are judgements.
constexpr std::size_t kPartsForSlope = 32;
constexpr std::size_t kPacketsOfPart = 4;
constexpr std::size_t kMinSlopes = 3;
constexpr std::size_t kMinFloorForOutliers = 8;
constexpr std::size_t kPacketsPerOutlier = 20;  // one packet in so many may be one
constexpr double kMinOutlierGapNs = 50e3;       // below the next one
constexpr double kMinOutlierGapRatio = 2;  // likewise, to the usual distance above the next one

// The quickest of each part, outliers included.
std::vector<OneWayDelay> quickest(const std::vector<OneWayDelay>& delays, double slope,
                                  double length_ns, std::size_t parts) {
  std::vector<std::optional<OneWayDelay>> found(parts);
  const double scale = static_cast<double>(parts) / std::max(length_ns, 1.0);
  for (const OneWayDelay& delay : delays) {
    const auto at = static_cast<std::size_t>(std::max(0.0, delay.t_ns * scale));
    auto& best = found[std::min(at, parts - 1)];
    if (!best || delay.delay_ns - slope * delay.t_ns < best->delay_ns - slope * best->t_ns) {
      best = delay;
    }
  }
  std::vector<OneWayDelay> result;
  for (const auto& one : found) {
    if (one) result.push_back(*one);
  }
  return result;
}

void add_slopes(const std::vector<OneWayDelay>& delays, double sign, double length_ns,
                std::vector<double>& slopes) {
  const std::size_t parts =
      std::clamp<std::size_t>(delays.size() / kPacketsOfPart, 1, kPartsForSlope);
  const std::vector<OneWayDelay> floor = quickest(delays, 0, length_ns, parts);
  for (std::size_t i = 0; i < floor.size(); ++i) {
    for (std::size_t j = i + 1; j < floor.size(); ++j) {
      const double apart_ns = floor[j].t_ns - floor[i].t_ns;
      if (apart_ns * kPartsForSlope < length_ns) continue;
      slopes.push_back(sign * (floor[j].delay_ns - floor[i].delay_ns) / apart_ns);
    }
  }
}

// The one that lies far below all the others, if there is one.
std::optional<std::size_t> alone(const std::vector<OneWayDelay>& floor, double slope) {
  std::vector<std::pair<double, std::size_t>> levels;
  for (std::size_t i = 0; i < floor.size(); ++i) {
    levels.emplace_back(floor[i].delay_ns - slope * floor[i].t_ns, i);
  }
  std::ranges::sort(levels);
  const double gap = levels[1].first - levels[0].first;
  const double usual = levels[levels.size() / 2].first - levels[1].first;
  if (gap < kMinOutlierGapNs || gap < kMinOutlierGapRatio * usual) return {};
  return levels[0].second;
}

// The usual slope between the quickest packets of all parts, of the one direction and of the other;
// 0 where there are too few.
double usual_slope(const OneWayDelays& delays) {
  std::vector<double> slopes;
  add_slopes(delays.there, 1, delays.length_ns, slopes);
  add_slopes(delays.back, -1, delays.length_ns, slopes);
  if (slopes.size() < kMinSlopes) return 0;
  return math::median(slopes).value_or(0);
}

// The quickest of each of so many parts of the run, in the order of time. A few that were quicker
// than all others by far are left out: not both ends saw the same copy of the packet.
std::vector<OneWayDelay> floor_of(const std::vector<OneWayDelay>& delays, double slope,
                                  double length_ns, std::size_t parts) {
  std::vector<OneWayDelay> floor = quickest(delays, slope, length_ns, parts);
  for (std::size_t left = floor.size() / kPacketsPerOutlier + 1; left > 0; --left) {
    if (floor.size() < kMinFloorForOutliers) break;
    const std::optional<std::size_t> outlier = alone(floor, slope);
    if (!outlier) break;
    floor.erase(floor.begin() + static_cast<std::ptrdiff_t>(*outlier));
  }
  return floor;
}

// The least delay, of what is left when the slope is taken off.
double least(std::span<const OneWayDelay> delays, double slope) {
  double result = std::numeric_limits<double>::infinity();
  for (const OneWayDelay& delay : delays) {
    result = std::min(result, delay.delay_ns - slope * delay.t_ns);
  }
  return result;
}

// Borrows the quickest packets, which are in the order of time.
using Delays = std::span<const OneWayDelay>;

Delays from_until(Delays delays, double begin_ns, double end_ns) {
  const auto begin = std::ranges::lower_bound(delays, begin_ns, {}, &OneWayDelay::t_ns);
  const auto end = std::ranges::lower_bound(delays, end_ns, {}, &OneWayDelay::t_ns);
  return {begin, std::max(begin, end)};
}

// The quickest packets of both directions in one span of time.
struct Floors {
  Delays there = {};
  Delays back = {};
  std::size_t least() const { return std::min(there.size(), back.size()); }
  Floors within(double begin_ns, double end_ns) const {  // without those of end_ns itself
    return {from_until(there, begin_ns, end_ns), from_until(back, begin_ns, end_ns)};
  }
};

struct Line {
  double slope = 0;
  double offset_ns = 0;  // at t_ns 0
  double width_ns = 0;   // of the band, as far as it has this slope
  double at(double t_ns) const { return offset_ns + slope * t_ns; }
};

// A piece of the band through which one straight line leads.
struct Piece {
  double begin_ns = 0;
  double end_ns = 0;
  Floors floors = {};
  Line line = {};
  bool has_slope = false;  // else the line is level: there are too few packets
};

constexpr std::size_t kMinFloorForSlope = 4;
constexpr double kMinDriftSpanNs = 1e9;  // ns; a shorter span shows no drift
constexpr double kMaxSlope = 600e-6;
constexpr int kSlopeSearches = 40;
constexpr double kGoldenRatio = 0.6180339887498949;

Line wider(const Line& one, const Line& other) {
  return one.width_ns >= other.width_ns ? one : other;
}

Line line_of(const Floors& floors, double slope) {
  const double there = least(floors.there, slope);
  const double back = least(floors.back, -slope);
  return {slope, (there - back) / 2, there + back};
}

// The width is the minimum of many linear functions of the slope, so it has one maximum.
Line widest(const Floors& floors, double from, double to) {
  Line low = line_of(floors, to - kGoldenRatio * (to - from));
  Line high = line_of(floors, from + kGoldenRatio * (to - from));
  for (int i = 0; i < kSlopeSearches; ++i) {
    if (low.width_ns >= high.width_ns) {
      to = high.slope;
      high = low;
      low = line_of(floors, to - kGoldenRatio * (to - from));
    } else {
      from = low.slope;
      low = high;
      high = line_of(floors, from + kGoldenRatio * (to - from));
    }
  }
  return wider(low, high);
}

// Whether so many of the quickest packets, over so long, show how clocks drift.
bool shows_drift(double length_ns, std::size_t floor) {
  return length_ns >= kMinDriftSpanNs && floor >= kMinFloorForSlope;
}

// With the line in the widest band. `floors` may hold more than this span's.
Piece piece_of(double begin_ns, double end_ns, const Floors& floors) {
  Piece piece{.begin_ns = begin_ns, .end_ns = end_ns, .floors = floors};
  piece.has_slope = shows_drift(end_ns - begin_ns, floors.least());
  piece.line = piece.has_slope ? widest(floors, -kMaxSlope, kMaxSlope) : line_of(floors, 0);
  return piece;
}

// If a clock's rate was changed, no straight band is wide: it is broken into pieces in which
// one is.

constexpr std::size_t kMinFloorOfPiece = 12;  // quickest packets of each direction
constexpr double kMinGainOfBendNs = 20e3;     // ns by which the band must get wider
constexpr int kMaxBends = 4;                  // nested
constexpr int kBorderSearches = 8;
constexpr double kForever = std::numeric_limits<double>::infinity();

struct Halves {
  Piece first = {};
  Piece second = {};
  double width_ns() const { return std::min(first.line.width_ns, second.line.width_ns); }
  bool are_enough() const {
    return std::min(first.floors.least(), second.floors.least()) >= kMinFloorOfPiece;
  }
};

Halves parted(const Piece& piece, double t_ns) {
  return {piece_of(piece.begin_ns, t_ns, piece.floors.within(-kForever, t_ns)),
          piece_of(t_ns, piece.end_ns, piece.floors.within(t_ns, kForever))};
}

// How far the quickest packets usually lie off the line between their neighbours in time.
void add_roughness(Delays floor, std::vector<double>& off) {
  for (std::size_t i = 1; i + 1 < floor.size(); ++i) {
    const OneWayDelay& before = floor[i - 1];
    const OneWayDelay& after = floor[i + 1];
    const double share = (floor[i].t_ns - before.t_ns) / std::max(after.t_ns - before.t_ns, 1.0);
    const double between_ns = before.delay_ns + share * (after.delay_ns - before.delay_ns);
    off.push_back(std::abs(floor[i].delay_ns - between_ns));
  }
}

double min_gain_of_bend(const Floors& floors) {
  std::vector<double> off;
  add_roughness(floors.there, off);
  add_roughness(floors.back, off);
  return std::max(kMinGainOfBendNs, math::median(off).value_or(0));
}

// At the border where both halves have the widest bands: the later it is, the narrower is the
// first half's and the wider the second's.
std::optional<Halves> best_halves(const Piece& piece) {
  std::optional<Halves> best;
  double from_ns = piece.begin_ns;
  double to_ns = piece.end_ns;
  for (int i = 0; i < kBorderSearches; ++i) {
    const double border_ns = (from_ns + to_ns) / 2;
    const Halves halves = parted(piece, border_ns);
    if (halves.are_enough() && (!best || halves.width_ns() > best->width_ns())) best = halves;
    const bool is_early = halves.first.line.width_ns > halves.second.line.width_ns;
    (is_early ? from_ns : to_ns) = border_ns;
  }
  return best;
}

// A bend shows in both halves: each of them has a wider band than both together. A queue that
// lasts through one of them widens only that one, and does not make it more exact.
void add_pieces(const Piece& piece, int bends, std::vector<Piece>& pieces) {
  const std::optional<Halves> best = bends > 0 ? best_halves(piece) : std::nullopt;
  if (!best || best->width_ns() < piece.line.width_ns + min_gain_of_bend(piece.floors)) {
    pieces.push_back(piece);
    return;
  }
  add_pieces(best->first, bends - 1, pieces);
  add_pieces(best->second, bends - 1, pieces);
}

// In the order of time, without gaps; the piece itself where it is straight.
std::vector<Piece> broken_at_bends(const Piece& piece) {
  std::vector<Piece> pieces;
  add_pieces(piece, kMaxBends, pieces);
  return pieces;
}

constexpr std::size_t kPartsForFloor = 128;
constexpr std::size_t kPartsForNoise = 16;

// Where two pieces meet: where their lines cross, if that is near their border.
OffsetKnot border_of(const Piece& before, const Piece& after) {
  const double apart = before.line.slope - after.line.slope;
  const double crossing = (after.line.offset_ns - before.line.offset_ns) / apart;
  const double early_ns = before.end_ns - (before.end_ns - before.begin_ns) / 4;
  const double late_ns = after.begin_ns + (after.end_ns - after.begin_ns) / 4;
  const bool is_near = apart != 0 && crossing > early_ns && crossing < late_ns;
  const double t_ns = is_near ? crossing : before.end_ns;
  return {t_ns, (before.line.at(t_ns) + after.line.at(t_ns)) / 2};
}

std::vector<OffsetKnot> knots_of(const std::vector<Piece>& pieces, double length_ns) {
  std::vector<OffsetKnot> knots{{0, pieces.front().line.at(0)}};
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    knots.push_back(border_of(pieces[i - 1], pieces[i]));
  }
  if (pieces.back().has_slope) knots.push_back({length_ns, pieces.back().line.at(length_ns)});
  return knots;
}

const Piece& piece_at(const std::vector<Piece>& pieces, double t_ns) {
  const auto found = std::ranges::find_if(pieces, [&](const Piece& p) { return t_ns < p.end_ns; });
  return found == pieces.end() ? pieces.back() : *found;
}

// Of one part of the run by itself.
struct Part {
  double width_ns = 0;
  double off_ns = 0;  // the middle
};

std::optional<Part> part_of(const std::vector<Piece>& pieces, double begin_ns, double end_ns) {
  const Piece& piece = piece_at(pieces, (begin_ns + end_ns) / 2);
  const Floors here = piece.floors.within(begin_ns, end_ns);
  if (here.least() == 0) return {};
  const Line line = line_of(here, piece.line.slope);
  return Part{line.width_ns, std::abs(line.offset_ns - piece.line.offset_ns)};
}

// Of the narrower half of the parts only: lasting queues make the others wide.
double noise_of(double length_ns, const std::vector<Piece>& pieces) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kPartsForNoise; ++i) {
    const double each_ns = length_ns / kPartsForNoise;
    const double begin_ns = each_ns * static_cast<double>(i);
    if (const auto part = part_of(pieces, begin_ns, begin_ns + each_ns)) parts.push_back(*part);
  }
  std::ranges::sort(parts, {}, &Part::width_ns);
  std::vector<double> off;
  for (std::size_t i = 0; i < (parts.size() + 1) / 2; ++i) off.push_back(parts[i].off_ns);
  return math::median(off).value_or(0);
}

}  // namespace

std::optional<OffsetBand> widest_band(const OneWayDelays& delays) {
  if (delays.there.empty() || delays.back.empty()) return {};
  const double slope = usual_slope(delays);
  const auto there = floor_of(delays.there, slope, delays.length_ns, kPartsForFloor);
  const auto back = floor_of(delays.back, -slope, delays.length_ns, kPartsForFloor);
  const std::vector<Piece> pieces = broken_at_bends(piece_of(0, delays.length_ns, {there, back}));
  OffsetBand result{.middle = knots_of(pieces, delays.length_ns),
                    .noise_ns = noise_of(delays.length_ns, pieces),
                    .has_drift = pieces.front().has_slope};
  for (const Piece& piece : pieces) {
    result.width_ns = std::max(result.width_ns, std::abs(piece.line.width_ns));
    result.is_closed = result.is_closed || piece.line.width_ns < 0;
  }
  return result;
}

std::optional<OffsetBand> one_way_band(const OneWayDelays& delays, double round_trip_ns) {
  const bool is_there = !delays.there.empty();
  const auto& seen = is_there ? delays.there : delays.back;
  if (seen.empty()) return {};
  const double sign = is_there ? 1 : -1;
  const bool has_drift = shows_drift(delays.length_ns, seen.size());
  const double slope = has_drift ? usual_slope(delays) : 0;
  const auto floor = floor_of(seen, sign * slope, delays.length_ns, kPartsForFloor);
  const double offset_ns = sign * (least(floor, sign * slope) - round_trip_ns / 2);
  const double end_ns = delays.length_ns + 1;
  return OffsetBand{.middle = {{0, offset_ns}, {end_ns, offset_ns + slope * end_ns}},
                    .width_ns = round_trip_ns,
                    .has_drift = has_drift};
}

}  // namespace chokepoint::analysis
