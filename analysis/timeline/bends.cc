#include "analysis/timeline/bends.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kLeastOfPiece = 12;  // quickest packets of each way
constexpr double kWorthABend = 20e3;       // ns that the corridor gets wider
constexpr int kMostBends = 4;              // one within the other
constexpr int kBorderSearches = 8;
constexpr double kEver = std::numeric_limits<double>::infinity();

struct Halves {
  Piece first = {};
  Piece second = {};
  double width_ns() const { return std::min(first.line.width_ns, second.line.width_ns); }
  bool are_enough() const {
    return std::min(first.floors.least(), second.floors.least()) >= kLeastOfPiece;
  }
};

Halves parted(const Piece& piece, double t_ns) {
  return {piece_of(piece.begin_ns, t_ns, piece.floors.within(-kEver, t_ns)),
          piece_of(t_ns, piece.end_ns, piece.floors.within(t_ns, kEver))};
}

// How far the quickest packets usually lie off the line between those before and after them.
void add_roughness(Delays floor, std::vector<double>& off) {
  for (std::size_t i = 1; i + 1 < floor.size(); ++i) {
    const OneWayDelay& before = floor[i - 1];
    const OneWayDelay& after = floor[i + 1];
    const double share = (floor[i].t_ns - before.t_ns) / std::max(after.t_ns - before.t_ns, 1.0);
    const double between_ns = before.delay_ns + share * (after.delay_ns - before.delay_ns);
    off.push_back(std::abs(floor[i].delay_ns - between_ns));
  }
}

double worth_of_a_bend(const Floors& floors) {
  std::vector<double> off;
  add_roughness(floors.there, off);
  add_roughness(floors.back, off);
  return std::max(kWorthABend, math::median(off).value_or(0));
}

// Where both halves have the widest corridors: the later the border, the narrower is the first
// half's and the wider the second's.
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

// A bend shows in both halves: each of them has a wider corridor than both together. A queue that
// stands in one of them widens that one only, and is no reason to believe it more.
void add_pieces(const Piece& piece, int bends, std::vector<Piece>& pieces) {
  const std::optional<Halves> best = bends > 0 ? best_halves(piece) : std::nullopt;
  if (!best || best->width_ns() < piece.line.width_ns + worth_of_a_bend(piece.floors)) {
    pieces.push_back(piece);
    return;
  }
  add_pieces(best->first, bends - 1, pieces);
  add_pieces(best->second, bends - 1, pieces);
}

}  // namespace

std::vector<Piece> broken_at_bends(const Piece& piece) {
  std::vector<Piece> pieces;
  add_pieces(piece, kMostBends, pieces);
  return pieces;
}

}  // namespace chokepoint::analysis
