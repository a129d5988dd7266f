// Unusual patterns in the times of steps: steps that are slow at a regular interval, and a time
// that changed from some step on. Pure.
#pragma once

#include <optional>
#include <vector>

#include "analysis/evidence/claims.h"

namespace chokepoint::analysis {

struct SlowSteps {
  std::uint64_t every = 0;  // steps
  std::size_t times = 0;    // that it was seen
  double more_ms = 0;       // than the others take, the median of those times
  double share = 0;         // of all time
};

struct ChangedSteps {
  std::uint64_t line = 0;
  double before_ms = 0;
  double after_ms = 0;
};

std::optional<SlowSteps> periodic_in(const std::vector<PrintedSteps>& steps);
std::optional<ChangedSteps> change_in(const std::vector<PrintedSteps>& steps);

std::vector<Claim> claims_of_steps(const std::vector<ToolFile>& all);

}  // namespace chokepoint::analysis
