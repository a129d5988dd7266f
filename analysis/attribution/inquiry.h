// A diagnosis together with all that it was made from, for those who show how a run went: a page, a
// trace. The same data give the same inquiry. Any thread; the run must outlive it.
#pragma once

#include <optional>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/step_accounts.h"
#include "analysis/limits/blame.h"
#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

struct Inquiry {
  Clocks clocks = {};
  StepLine steps = {};
  Phases phases = {};
  // What held the connections back; empty where the steps' phases could not be told.
  std::optional<Blame> blame = {};
  Diagnosis diagnosis = {};
};

Inquiry inquire(const RunData& run, const DiagnoseOptions& options = {});

// Of its settled steps; empty where the time was not accounted for.
std::vector<StepAccounts> step_accounts(const RunData& run, const DiagnoseOptions& options,
                                        const Inquiry& inquiry);

}  // namespace chokepoint::analysis
