// Where a clock's rate was changed, no straight corridor is wide: it is broken into pieces in which
// one is. Pure; any thread.
#pragma once

#include <vector>

#include "analysis/timeline/straight_piece.h"

namespace chokepoint::analysis {

// In the order of time, without gaps; the piece itself where it is straight.
std::vector<Piece> broken_at_bends(const Piece& piece);

}  // namespace chokepoint::analysis
