// When the job's connections had something under way, where the library's messages are not known:
// from the kernel's stopwatch of each sender, else from packets.
#pragma once

#include "analysis/phases/phases.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

struct Activity {
  PhaseSource source = PhaseSource::None;
  Spans spans = {};
};

// What one node's senders had under way, less the way of the last answer; and when nothing of it
// came through for long.
struct SenderActivity {
  Spans busy = {};
  Spans stalled = {};
};

SenderActivity senders_of(const RunData& run, const Clocks& clocks, std::size_t node);

// By packets of RoCE alone, waits for what was lost included.
Spans roce_activity(const RunData& run, const Clocks& clocks);

Activity activity_of(const RunData& run, const Clocks& clocks);

}  // namespace chokepoint::analysis
