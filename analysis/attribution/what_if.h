// What a step would gain if a cause cost half, for accounts that are large enough: the run is
// replayed with half of their shares of each step's exchanges and computing. Pure; any thread.
#pragma once

#include <optional>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/step_accounts.h"
#include "analysis/replay/replay.h"

namespace chokepoint::analysis {

// Empty where the record does not permit a replay.
std::vector<WhatIf> what_ifs_of(const std::optional<Replay>& replay, const Inquiry& inquiry,
                                const std::vector<StepAccounts>& steps);

}  // namespace chokepoint::analysis
