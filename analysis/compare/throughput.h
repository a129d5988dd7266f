// Samples of training data a second, of a whole job, from what its steps or a label say. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/step_rows.h"

namespace chokepoint::analysis {

using Labels = std::map<std::string, std::string>;

// A label's value as a number above 0.
std::optional<double> number_of(const Labels& labels, const std::string& key);

// The label `samples_label` has the samples of one step of the whole job and goes before what steps
// say. Those are summed over ranks, but where all ranks work on the same samples.
std::optional<Told> samples_per_s(const std::vector<StepRows>& all, const Labels& labels,
                                  const std::string& samples_label,
                                  std::optional<double> mean_step_ms);

}  // namespace chokepoint::analysis
