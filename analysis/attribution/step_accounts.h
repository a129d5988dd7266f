// The accounts of each step by itself, for looking at how a run went. The diagnosis accounts for
// all settled steps together, from measurements that single steps are too short for; here its
// accounts are shared out over the steps:
//
//   1. of each step is known how long it took, how long somebody was waited for, how long it
//      communicated, and what held the connections back in which of its moments
//   2. that table is fitted to what its rows and columns must sum to: the steps' own times, and the
//      diagnosis's accounts
//
// So every step sums to its time, and the mean over all steps is the diagnosis. Pure.
#pragma once

#include <vector>

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

struct StepAccounts {
  Span span = {};  // on the common clock
  Accounting accounting = {};
};

// One for each settled step. `whole` is the diagnosis's, a step.
std::vector<StepAccounts> step_accounts(const DiagnosisInput& input, const Accounting& whole);

}  // namespace chokepoint::analysis
