// All that findings are made from: the run on one clock, its steps, their phases, and what held the
// connections back. Borrowed; lives as long as diagnose() runs.
#pragma once

#include "analysis/attribution/diagnose.h"
#include "analysis/limits/blame.h"
#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

struct Scene {
  const RunData& run;
  const DiagnoseOptions& options;
  const Clocks& clocks;
  const StepLine& steps;
  const Phases& phases;
  const Blame& blame;

  // The settled steps by a node's own clock.
  Span span_of(std::size_t node) const;
};

// What took time of each step: into which account it goes, and verdicts without a share yet.
struct Findings {
  Accounting accounting = {};
  std::vector<Verdict> verdicts = {};
};

}  // namespace chokepoint::analysis
