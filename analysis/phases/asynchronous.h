// Collectives that nobody waits for, where none queues behind another: the longer such a one takes,
// the shorter the computing that is seen after it, for the two went on together.
//
//   waited for    exchange ─── │ computing ───│      the second does not depend on the first
//   not           exchange ───────── │ comp. │       their sum stays the same
#pragma once

#include "analysis/phases/lines.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

// Marks the line's beads that were not waited for, inside the steps; bursts of several are
// lines.h's.
void mark_unwaited(Line& line, const Spans& steps);

}  // namespace chokepoint::analysis
