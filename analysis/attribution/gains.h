// What a step would gain if a verdict's cause were gone: of a full link, the run replayed over one
// of its cards' rate, which shows what computing, round trips and processors take then. Of all
// else, and where the record permits no replay, the account stands. Pure; any thread.
#pragma once

#include <optional>

#include "analysis/attribution/findings.h"
#include "analysis/replay/replay.h"

namespace chokepoint::analysis {

void measure_gains(const DiagnosisInput& input, const std::optional<Replay>& replay,
                   Findings& findings);

}  // namespace chokepoint::analysis
