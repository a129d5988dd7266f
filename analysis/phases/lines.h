// A rank's collectives as a line: what it computed between them, and which of them had to queue
// because the one before was not over yet.
//
//   own line   ── gap ──┤ bucket 1 │ bucket 2 │ bucket 3 ├── gap ──┤ …
//                        begins a burst, the others queue behind it
//
// While buckets queue, the rank may go on computing unseen. How much is a model: gradients become
// ready in proportion to their bytes, and a backward pass takes twice its forward pass.
#pragma once

#include <span>
#include <vector>

#include "analysis/phases/exchanges.h"

namespace chokepoint::analysis {

struct StageGap {
  const Exchange* exchange = nullptr;
  std::int64_t gap_ns = 0;  // since the rank's previous one was over
  bool queued = false;
  bool unwaited = false;  // see asynchronous.h
  double pace_ns = 0;     // computing of its own that the model expects behind the gap; queued only
};

struct Burst {
  std::size_t first = 0;  // of the line
  std::size_t count = 0;
  double hidden_ns = 0;  // computing that the model expects while it lasted
};

struct Line {
  std::vector<StageGap> beads = {};
  std::vector<Burst> bursts = {};
};

// How long a backward pass takes of which the first bucket, with this share of the gradients, comes
// after a gap that holds the forward pass, too.
double backward_of(double first_gap, double first_share);

// Of one rank's exchanges, messages left out.
Line line_of(std::span<const Exchange> exchanges);
// Of one node's: a line for each of its ranks.
std::vector<Line> lines_of(std::span<const Exchange> exchanges);

}  // namespace chokepoint::analysis
