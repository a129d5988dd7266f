// How much of the communication computing hides. It cannot be seen from outside, so this is a
// model, in the order of what it rests on:
//
//   1. where the job computes on processors: what its main thread worked
//   2. of a pipeline: what its stages think for a micro-batch
//   3. of collectives: those that queue behind each other were ready before (lines.h); and one that
//      is followed by computing whose length makes up for its own was not waited for
//   4. else: gradients in buckets of 25 MB
#pragma once

#include "analysis/phases/exchanges.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct OverlapInput {
  const RunData& run;
  const Clocks& clocks;
  const Exchanges& exchanges;
  const Spans& steps;
  double alone_ms = 0;  // of a step nothing is under way
  double count = 0;     // of steps
};

double hidden_ms(const OverlapInput& input);

}  // namespace chokepoint::analysis
