// All that findings are made from: the run on one clock, its steps, their phases, and what held the
// connections back. Borrowed; lives as long as diagnose() runs.
#pragma once

#include "analysis/attribution/diagnose.h"
#include "analysis/limits/blame.h"
#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

// The settled steps by a node's own clock; without any the whole of its session.
Span settled_span(const RunData& run, const Clocks& clocks, const StepLine& steps,
                  std::size_t node);

struct DiagnosisInput {
  const RunData& run;
  const DiagnoseOptions& options;
  const Clocks& clocks;
  const StepLine& steps;
  const Phases& phases;
  const Blame& blame;

  Span span_of(std::size_t node) const { return settled_span(run, clocks, steps, node); }
};

// What took time of each step: into which account it goes, and verdicts without a share yet.
struct Findings {
  Accounting accounting = {};
  std::vector<Verdict> verdicts = {};
  double of_computing_ms = 0;        // of the accounts, what looked like computing
  std::vector<Evidence> hints = {};  // shown where no verdict can be given
};

}  // namespace chokepoint::analysis
