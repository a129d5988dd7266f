// From the records of a run to its diagnosis: accounts for the time of each step, splits the cost
// of communication by what limited it, and names the largest part that a change could take away.
//
//   inquire()   clocks → steps → phases → limits of the connections → findings → judge()
//   diagnose()  the same, keeping only the diagnosis
//
// Pure: the same data give the same result. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "analysis/limits/limit_timeline.h"
#include "analysis/load/run_data.h"
#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

struct DiagnoseOptions {
  double wan_rtt_ms = 2;  // a path is wide-area from this unloaded round trip on
};

Diagnosis diagnose(const RunData& run, const DiagnoseOptions& options = {});

// A diagnosis together with all that it was made from, for those who show how a run went: a page, a
// trace. The run must outlive it.
struct Inquiry {
  Clocks clocks = {};
  StepLine steps = {};
  Phases phases = {};
  std::optional<LimitTimeline> limit_timeline =
      {};  // of the connections; empty where the phases are not known
  Diagnosis diagnosis = {};
};

// "31 steps from output", or "29 of 31 steps", where the times are not of all.
std::string steps_text(const StepTimes& steps);

Inquiry inquire(const RunData& run, const DiagnoseOptions& options = {});

}  // namespace chokepoint::analysis
