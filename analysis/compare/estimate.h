// A row's figures from those of its runs. Pure functions.
#pragma once

#include <span>
#include <vector>

#include "analysis/compare/comparison.h"

namespace chokepoint::analysis {

using RunList = std::vector<const ComparedRun*>;

RunList runs_of(const Comparison& comparison, const Group& group);

// What these runs tell of a figure, in their order.
std::vector<double> values_of(const RunList& runs, Figure figure);

std::optional<Estimate> estimate_of(std::span<const double> values, double confidence);

// Fills what a row's runs tell: figures but the scaling factor, GPUs, accounts and verdicts.
void fill(Group& group, const RunList& runs, double confidence);

}  // namespace chokepoint::analysis
