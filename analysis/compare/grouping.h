// Runs into rows: which runs make a row, a row's figures and name, the rows' order, and which row
// is another's baseline. Pure functions; any thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/comparison.h"

namespace chokepoint::analysis {

// The keys and values by which a row is a baseline.
using Condition = std::map<std::string, std::string>;

// Rows in the order of their keys; the runs are moved into that order, too, and folders stay in the
// order in which they came.
void group_runs(Comparison& comparison);

// By one of the keys or a figure, then in the order of before. An Error if it is neither.
Result<> sort_groups(Comparison& comparison, const std::string& by, bool is_reversed);

// The row that meets the condition and has otherwise the same keys; else the only one that meets
// it.
std::optional<std::size_t> baseline_of(const Comparison& comparison, std::size_t group,
                                       const Condition& condition);

using ComparedRuns = std::vector<const ComparedRun*>;

ComparedRuns runs_of(const Comparison& comparison, const Group& group);

// The runs' values of a figure, in their order.
std::vector<double> values_of(const ComparedRuns& runs, Figure figure);

std::optional<Estimate> estimate_of(std::span<const double> values, double confidence);

// Fills a row from its runs: figures but the scaling factor, GPUs, accounts and verdicts.
void fill(Group& group, const ComparedRuns& runs, double confidence);

// Whether all rows have the same value of this key, by its number.
bool is_same_everywhere(const Comparison& comparison, std::size_t key);

// A row's value of a key for people: folders without what all of them begin with; "–" if the row
// has none.
std::string shown_value(const Comparison& comparison, std::size_t group, std::size_t key);

// Names every row by the values of the keys that differ; by all keys if there is only one row.
void name_groups(Comparison& comparison);

}  // namespace chokepoint::analysis
