// Runs into rows, rows into their order, and which row is another's baseline. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/comparison.h"

namespace chokepoint::analysis {

// What a row has to have to be a baseline.
using Condition = std::map<std::string, std::string>;

// Rows in the order of their keys; the runs are moved into that order, too, and folders stay in the
// order in which they came.
void group_runs(Comparison& comparison);

// By one of the keys or a figure, and then by what was before. An Error where it is neither.
Result<> sort_groups(Comparison& comparison, const std::string& by, bool is_reversed);

// The row that has all these and otherwise the same keys; else the one that alone has them.
std::optional<std::size_t> baseline_of(const Comparison& comparison, std::size_t group,
                                       const Condition& condition);

}  // namespace chokepoint::analysis
