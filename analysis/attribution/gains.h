// What a step would gain without a verdict's cause. For a full link the run is replayed over a
// link of its cards' rate, which shows the remaining computing, round trips and processor time.
// For all other causes, and where the record permits no replay, the gain is the account. Pure; any
// thread.
#pragma once

#include <optional>

#include "analysis/attribution/findings.h"
#include "analysis/replay/replay.h"

namespace chokepoint::analysis {

// Adds to the verdict's advice what a step would take by it, where a replay answers that: what the
// command that it names says, too. Larger buckets are of the size that gains most, or left out.
void foretell(const Replay& replay, Verdict& verdict);

void measure_gains(const DiagnosisInput& input, const std::optional<Replay>& replay,
                   Findings& findings);

}  // namespace chokepoint::analysis
