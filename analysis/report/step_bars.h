// The accounts of steps as bars of a page: one each, or, where there are more steps than a page can
// show, the mean over several. Pure.
#pragma once

#include <vector>

#include "analysis/attribution/inquiry.h"

namespace chokepoint::analysis {

struct StepBar {
  std::int64_t number = 0;     // of its first step, counted from 1
  std::int64_t start_ns = 0;   // on the common clock
  std::int64_t count = 1;      // of steps
  Accounting accounting = {};  // a step
};

std::vector<StepBar> step_bars(const std::vector<StepAccounts>& accounts, const StepLine& steps,
                               std::size_t most);

}  // namespace chokepoint::analysis
