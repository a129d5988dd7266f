#include "analysis/timeline/corridor.h"

#include <algorithm>
#include <cmath>

#include "analysis/timeline/bends.h"
#include "analysis/timeline/delay_floor.h"
#include "analysis/timeline/straight_piece.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kParts = 128;
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

// Of the narrower half of the parts: where queues stood, a part says little.
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

std::optional<Corridor> widest_corridor(const OneWayDelays& delays) {
  if (delays.there.empty() || delays.back.empty()) return {};
  const double slope = usual_slope(delays);
  const auto there = floor_of(delays.there, slope, delays.length_ns, kParts);
  const auto back = floor_of(delays.back, -slope, delays.length_ns, kParts);
  const std::vector<Piece> pieces = broken_at_bends(piece_of(0, delays.length_ns, {there, back}));
  Corridor result{.middle = knots_of(pieces, delays.length_ns),
                  .noise_ns = noise_of(delays.length_ns, pieces),
                  .has_drift = pieces.front().has_slope};
  for (const Piece& piece : pieces) {
    result.width_ns = std::max(result.width_ns, std::abs(piece.line.width_ns));
    result.is_closed = result.is_closed || piece.line.width_ns < 0;
  }
  return result;
}

std::optional<Corridor> half_corridor(const OneWayDelays& delays, double round_trip_ns) {
  const bool is_there = !delays.there.empty();
  const auto& seen = is_there ? delays.there : delays.back;
  if (seen.empty()) return {};
  const double sign = is_there ? 1 : -1;
  const bool has_drift = tells_drift(delays.length_ns, seen.size());
  const double slope = has_drift ? usual_slope(delays) : 0;
  const auto floor = floor_of(seen, sign * slope, delays.length_ns, kParts);
  const double offset_ns = sign * (least(floor, sign * slope) - round_trip_ns / 2);
  const double end_ns = delays.length_ns + 1;
  return Corridor{.middle = {{0, offset_ns}, {end_ns, offset_ns + slope * end_ns}},
                  .width_ns = round_trip_ns,
                  .has_drift = has_drift};
}

}  // namespace chokepoint::analysis
