// A job that exchanges in every so many of its steps only: local SGD, DiLoCo, gradients that are
// accumulated over several steps. Which steps exchange, and what a step without exchange takes.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

// As the job says it: one step, or several that have one row.
struct StepUnit {
  std::int64_t first = 0;  // number of its first step
  std::int64_t steps = 1;
  Span span = {};
  double bytes = 0;     // that a rank exchanged in it
  bool is_read = true;  // false: what was exchanged in it is not known
};

// Steps of one exchange, which may take longer than one.
struct SyncSteps {
  std::size_t unit = 0;
  std::size_t units = 1;
  Span span = {};
  double bytes = 0;
  double extra_ns = 0;  // that they take longer than as many steps without exchange
};

struct SyncRounds {
  std::int64_t every = 0;  // steps
  double inner_ns = 0;     // that a step without exchange takes
  std::vector<SyncSteps> syncs = {};
};

// Empty where the job exchanges in most steps, or at irregular ones.
std::optional<SyncRounds> find_rounds(std::span<const StepUnit> units);

}  // namespace chokepoint::analysis
