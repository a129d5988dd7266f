// Figures as JSON: as few digits as tell them, so that half a million of them stay small. Pure
// functions.
#pragma once

#include "base/cli/output.h"
#include "preflight/result/figures.h"

namespace chokepoint::preflight {

// Null where nothing was measured, and where it is no number. Read back it is the same figure.
cli::Json json_of(const Figure& figure);

// Of a share, three digits behind the point.
cli::Json json_of_share(const Figure& share);

}  // namespace chokepoint::preflight
