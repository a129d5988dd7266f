// The keys that distinguish runs: their labels, and what their records say if no label does; and
// the order of their values. Pure functions; any thread.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/compared_run.h"

namespace chokepoint::analysis {

struct Setup {
  std::int64_t nodes = 0;
  std::int64_t each = 0;  // GPUs a node
};

// A label that is a whole number from 1 to a million, else nullopt.
std::optional<std::int64_t> count_of(const std::map<std::string, std::string>& labels,
                                     const std::string& key);

// From the label "setup" if it is of the form 2x1, or from "nodes" and "gpus_per_node".
std::optional<Setup> setup_of(const std::map<std::string, std::string>& labels);

// A run's value of this key; nullopt if neither its labels nor its records have one.
std::optional<std::string> value_of(const ComparedRun& run, const std::string& key);

// The names of the labels that any run has.
std::set<std::string> all_labels(const std::vector<ComparedRun>& runs);

// The keys that make rows by default: see docs/guide/compare.md.
std::vector<std::string> usual_keys(const std::vector<ComparedRun>& runs);

// Keys that value_of() knows without a label.
bool is_derived(const std::string& key);

// Compares text, but the numbers inside it by their size: "2x1" before "10x1".
std::strong_ordering natural_order(std::string_view one, std::string_view other);

}  // namespace chokepoint::analysis
