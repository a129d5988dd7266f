// The accounts of each step by itself. The diagnosis accounts for all settled steps together, from
// measurements that single steps are too short for; here its accounts are shared out over the
// steps:
//
//   1. of each step is known how long it took, how long ranks waited for a late one, how long it
//      communicated, and what limited the connections at each moment of it
//   2. that table is fitted to what its rows and columns must sum to: the steps' own times, and the
//      diagnosis's accounts
//
// So every step sums to its time, and the mean over all steps is the diagnosis.
#pragma once

#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

struct StepAccounts {
  Span span = {};  // on the common clock
  Accounting accounting = {};
};

// The accounts of each settled step by itself; empty where the time was not
// accounted for.
std::vector<StepAccounts> step_accounts(const RunData& run, const DiagnoseOptions& options,
                                        const Inquiry& inquiry);

}  // namespace chokepoint::analysis
