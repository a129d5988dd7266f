// Predictions beside what came true: their errors, and what these come to over many runs. Values;
// pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {

struct Beside {
  double predicted = 0;
  double measured = 0;

  // nullopt where nothing was measured, of which everything is infinitely more.
  std::optional<double> error_percent() const;
};

// The run by the models alone: its computing and what it exchanges, nothing of how long that took.
JobProfile without_outcome(const JobProfile& profile);

// The target, and of the run that is predicted whatever was not asked for otherwise: its network,
// its ranks and their hosts.
Target on_network_of(const JobProfile& run, Target target);

struct CheckedStep {
  Beside step_ms = {};
  double low_ms = 0;
  double high_ms = 0;
};

struct CheckFigures {
  std::size_t count = 0;
  std::optional<double> median_error_percent = {};  // of errors without their sign
  std::optional<double> p90_error_percent = {};
  std::optional<double> within_percent = {};  // measured between low and high
};

CheckFigures figures_of(const std::vector<CheckedStep>& steps);

}  // namespace chokepoint::analysis
