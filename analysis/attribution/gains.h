// What a step would gain if a verdict's cause were gone: of a full link, the run replayed over one
// of its cards' rate, which shows what computing, round trips and processors take then. Of all
// else, and where the record permits no replay, the account stands. Pure; any thread.
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
