// What a sweep shows of the members of a bundle: groups of flows that lose more or take longer than
// the others, or that all are alike, or that too little was sent to know. Values and pure
// functions.
#pragma once

#include <optional>
#include <vector>

#include "base/documents/probe_paths.h"
#include "probe/paths/hops.h"
#include "probe/paths/rates.h"
#include "probe/paths/sweep.h"

namespace chokepoint::probe::paths {

using documents::Direction;
using Verdict = documents::FlowsVerdict;

// Differences in delay below this may be the hosts' own: each flow has a receive queue, and that a
// processor.
inline constexpr double kMinDelayNs = 50e3;

// Of connections: slower ones are found, losses are not judged, because a connection that fills
// its path makes its own. Alike where all rates lie within math::kMinSlower. What is judged, not
// what was asked for.
documents::ProbePaths judged(const std::vector<RateRecord>& flows);

// `hops`: of each flow, or empty where none was traced.
documents::ProbePaths judged(const SweepRecord& record,
                             const std::vector<std::optional<Hops>>& hops,
                             const documents::PathsExpected& expected);

}  // namespace chokepoint::probe::paths
