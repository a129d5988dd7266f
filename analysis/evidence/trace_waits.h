// Who waits for whom in collectives, by the traces of several ranks. All ranks of a collective end
// it nearly together, so that the part of the one that came last is the shortest, and each other
// rank's part began with waiting: as long as its own is longer. Clocks of ranks are not compared.
// What a rank computes meanwhile does not count. Pure.
//
//   rank 0  ──────▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓   waited ▓ until rank 1 came
//   rank 1  ───────────────────▓▓▓▓   last
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/evidence/tool_file.h"

namespace chokepoint::analysis {

struct TraceWaits {
  std::size_t collectives = 0;  // that several ranks recorded
  // By the rank that waits; in it by the rank that came last. In all steps together.
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> for_whom_ns = {};
  std::map<std::int64_t, std::int64_t> waiting_ns = {};  // for anybody
};

// Of ranks that are known and have times.
TraceWaits waits_of(const std::vector<const RankRecord*>& ranks);

// How long others waited for it: the median of those that did, in all steps together.
std::map<std::int64_t, double> cost_of_ranks(const TraceWaits& waits);

}  // namespace chokepoint::analysis
