// How much of the communication computing hides. It cannot be seen from outside, so this is a
// model, in the order of what it rests on:
//
//   1. if the job computes on processors: what its main thread worked
//   2. of a pipeline: what its stages compute for a micro-batch
//   3. of collectives: those that queue behind each other were ready before (lines_of()); and one
//      that is followed by computing whose length makes up for its own was not waited for
//      (mark_unwaited())
//   4. else: gradients in buckets of 25 MiB
//
// Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/phases/exchanges.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct OverlapInput {
  const RunData& run;
  const Clocks& clocks;
  const Exchanges& exchanges;
  const Spans& steps;
  double alone_ms = 0;  // of a step, in which nothing is under way
  double count = 0;     // of steps
};

double hidden_ms(const OverlapInput& input);

Worked main_worked(const OverlapInput& input);
std::optional<double> worked_by(const Worked& worked, std::span<const Exchange> of_node);

// What the exchange itself takes of the processors in a step, or waits for them, of the rank for
// which that is most: no better path takes it away. 0 where it is not known.
double exchange_work_ms(const OverlapInput& input);

// A collective with what its rank computed before it; it had to queue if the one before was not
// over.
//
//   own line   ── gap ──┤ bucket 1 │ bucket 2 │ bucket 3 ├── gap ──┤ …
//                        begins a burst, the others queue behind it
//
// While buckets queue, the rank may go on computing unseen. How much is a model: gradients become
// ready in proportion to their bytes, and a backward pass takes twice its forward pass.
struct StageGap {
  const Exchange* exchange = nullptr;
  std::int64_t gap_ns = 0;  // since the rank's previous one was over
  bool queued = false;
  bool unwaited = false;  // see mark_unwaited()
  double pace_ns = 0;     // computing of its own that the model expects behind the gap; queued only
};

struct Burst {
  std::size_t first = 0;  // of the line
  std::size_t count = 0;
  double hidden_ns = 0;  // computing that the model expects while it lasted
};

// A rank's collectives in order.
struct Line {
  std::vector<StageGap> gaps = {};
  std::vector<Burst> bursts = {};
};

// Of one node: a line for each of its ranks, messages left out.
std::vector<Line> lines_of(std::span<const Exchange> exchanges);

// Marks collectives that no rank waited for, inside the steps, if none queues behind another: the
// longer such a one takes, the shorter the computing that is seen after it, for the two went on
// together.
//
//   waited for    exchange ─── │ computing ───│      the second does not depend on the first
//   not           exchange ───────── │ comp. │       their sum stays the same
//
// Of a rank that computes on a processor, `worked_ns` of its main thread: none are marked where it
// worked too little for that.
void mark_unwaited(Line& line, const Spans& steps, std::optional<double> worked_ns = {});

}  // namespace chokepoint::analysis
