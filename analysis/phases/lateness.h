// Who came late, told by the order of arrival and never by how long anything took: the rank that
// all others wait for has the shortest collective of all.
//
//   rank 0   computes ─┤ ready ········ waits ········├─ exchange ─
//   rank 1   computes ───────────────────────┤ ready  ├─ exchange ─
//                       └──────── late ──────┘
//
// Ranks leave a collective one way of the path apart, and so come to the next one: that is none's
// lateness. Nor is it where the one that waited went on computing and waited for nothing.
//
// Of a pipeline's messages the sender is late by what it took longer than its stage usually takes,
// as far as the receiver had been ready for them.
#pragma once

#include <vector>

#include "analysis/phases/exchanges.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct Late {
  std::size_t node = 0;    // that came late
  std::int64_t rank = -1;  // -1: not known
  Span waited = {};        // by the one that came next to last
  double lost_ns = 0;      // of it, what the step took longer for
};

std::vector<Late> late_arrivals(const Exchanges& exchanges, std::span<const Meeting> meetings,
                                const Spans& steps);

}  // namespace chokepoint::analysis
