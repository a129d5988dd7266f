// By what runs are told apart: their labels, and what their records tell where no label does. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"

namespace chokepoint::analysis {

struct Setup {
  std::int64_t nodes = 0;
  std::int64_t each = 0;  // GPUs a node
};

// A label that is a whole number from 1 to a million; nothing where it is not.
std::optional<std::int64_t> count_of(const std::map<std::string, std::string>& labels,
                                     const std::string& key);

// Of the label "setup" where it is of the form 2x1, or of "nodes" and "gpus_per_node".
std::optional<Setup> setup_of(const std::map<std::string, std::string>& labels);

// What a run has under this key; nothing where neither its labels nor its records tell.
std::optional<std::string> value_of(const ComparedRun& run, const std::string& key);

// The keys that make rows where nobody says: see docs/compare.md.
std::vector<std::string> usual_keys(const std::vector<ComparedRun>& runs);

// Keys that value_of() knows without a label.
bool is_derived(const std::string& key);

}  // namespace chokepoint::analysis
