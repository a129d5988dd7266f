// One run's figures, from its records and its diagnosis. Pure; any thread.
#pragma once

#include <string>

#include "analysis/compare/compared_run.h"
#include "analysis/load/run_data.h"
#include "analysis/load/run_summary.h"

namespace chokepoint::analysis {

// All three of the same run.
struct RunParts {
  const RunSummary& summary;
  const RunData& data;
  const Diagnosis& diagnosis;
};

// Path and folder are the caller's to fill in.
ComparedRun figures_of(const RunParts& parts, const std::string& samples_label);

}  // namespace chokepoint::analysis
