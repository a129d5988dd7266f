// The steps of a run on one clock: from the best source that any node has, those of one rank.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

struct StepLine {
  std::optional<record::StepSource> source = {};
  std::vector<Span> all = {};  // every step, one that stands for several cut into as many
  // Without the first ones, in which connections are made, and those of which no samples were read,
  // not all is written yet, or NCCL did not tell who came when.
  std::vector<Span> settled = {};
};

// How many lay between the first of them and the last, with those of which no samples were read.
double count_between(std::span<const Span> settled);

StepLine choose_steps(const RunData& run, const Clocks& clocks);

}  // namespace chokepoint::analysis
