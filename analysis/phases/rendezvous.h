// Who came late where the library's messages are not known: by who sent first. A library that lets
// no data move before all have come (Gloo, MPI's rendezvous) has each rank say so in a few bytes:
//
//   node a   computes ─┤ · (says so)                ├▓▓▓▓▓▓▓▓ data ─┤ idle …
//   node b   computes ──────────────────────────────┤·▓▓▓▓▓▓▓ data ─┤ idle …
//                       └───────── b is late ───────┘
//
// A round begins with the first bytes after everybody was quiet. Where data move before the last
// one has come it is none: a pipeline's stages send one after the other and wait for nobody. Bins
// and readings are 10 to 20 ms long, so less than three times that is nobody's lateness; and who
// says so in the bin in which the last data passed is not seen to wait. So this names late ranks,
// but where it names none there may be one. Pure.
#pragma once

#include "analysis/phases/lateness.h"

namespace chokepoint::analysis {

std::vector<Late> late_by_first_bytes(const RunData& run, const Clocks& clocks, const Spans& steps);

}  // namespace chokepoint::analysis
