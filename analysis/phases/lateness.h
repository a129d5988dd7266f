// Which rank arrives late, by the order of arrival and never by how long anything took: the rank
// that all others wait for has the shortest collective of all.
//
//   rank 0   computes ─┤ ready ········ waits ········├─ exchange ─
//   rank 1   computes ───────────────────────┤ ready  ├─ exchange ─
//                       └──────── late ──────┘
//
// Ranks leave a collective one propagation time apart, and so arrive at the next one: that is not
// lateness. Nor is it if the rank that waited went on computing and waited for nothing.
//
// Of a pipeline's messages the sender is late by what it took longer than its stage usually takes,
// or, where it takes much longer than the others do at each message, than those take; as far as the
// receiver had been ready for them. Pure; any thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "analysis/phases/meetings.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

using RankId = std::pair<std::size_t, std::int64_t>;  // node, rank

struct Late {
  std::size_t node = 0;                     // that arrived late
  std::int64_t rank = -1;                   // -1: not known
  Span waited = {};                         // by the one that arrived before it
  double lost_ns = 0;                       // of it, by which the step took longer
  std::optional<std::size_t> meeting = {};  // to which it came, where that is known
};

// `worked`: by node.
std::vector<Late> late_arrivals(const Exchanges& exchanges, std::span<const Meeting> meetings,
                                const Spans& steps, const Worked& worked = {});

// The late stages of a pipeline, by its messages alone. Without steps no stage is compared with the
// others.
std::vector<Late> late_senders(const Exchanges& exchanges, std::span<const Meeting> meetings,
                               const Spans& steps = {});

// Which rank arrives late if the library's messages are not known: by who sent first. A library
// that lets no data move before all ranks have arrived (Gloo, MPI's rendezvous) has each rank
// announce itself in a few bytes:
//
//   node a   computes ─┤ · (announces)              ├▓▓▓▓▓▓▓▓ data ─┤ idle …
//   node b   computes ──────────────────────────────┤·▓▓▓▓▓▓▓ data ─┤ idle …
//                       └───────── b is late ───────┘
//
// A round begins with the first bytes after all were quiet. If data move before the last one has
// arrived, it does not count: a pipeline's stages send one after the other without waiting.
// Bins and readings are 10 to 20 ms long, so less than three times that is not lateness; and a rank
// that announces itself in the bin of the last data is not seen to wait. So the ranks named are
// late, but there may be late ranks that are not named.
//
// Of a host with several ranks each counts by itself, as far as its connections are known to be
// its.
std::vector<Late> late_by_first_bytes(const RunData& run, const Clocks& clocks, const Spans& steps);

}  // namespace chokepoint::analysis
