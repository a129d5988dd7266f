// Pairs as the document has them: a list for each figure, all as long as there are pairs, null
// where it was not measured; null for the whole list where it was measured nowhere. Pure functions.
#pragma once

#include <vector>

#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// {"count", "a": […], "b": […], "rtt_ms": […], …, "there": {"tcp_mbps": […], …}, "back": {…}}
cli::Json json_of_pairs(const Measured& measured);

// Pairs among so many hosts, by a, then b, each at most once; else Malformed.
Result<std::vector<PairResult>> pairs_in(const cli::Json& json, std::size_t hosts);

}  // namespace chokepoint::preflight
