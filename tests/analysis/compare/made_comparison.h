// Runs as a comparison takes them, without records.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/compare/compare.h"

namespace chokepoint::analysis {

using LabelMap = std::map<std::string, std::string>;

inline ComparedRun made_run(const LabelMap& labels, double step_ms, const std::string& path = {}) {
  ComparedRun run{.path = path, .folder = path, .labels = labels, .nodes = {"a", "b"}, .gpus = 2};
  run.figures[place_of(Figure::StepMs)] = SourcedValue{step_ms, "made"};
  run.accounting = Accounting{};
  (*run.accounting)[Account::Compute] = step_ms;
  return run;
}

inline void set(ComparedRun& run, Figure figure, double value) {
  run.figures[place_of(figure)] = SourcedValue{value, "made"};
}

// One for each of the step times, all with these labels.
inline void add_runs(std::vector<ComparedRun>& runs, const LabelMap& labels,
                     const std::vector<double>& step_ms) {
  for (const double each : step_ms) {
    runs.push_back(made_run(labels, each));
  }
}

inline std::vector<std::string> names_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const Group& group : comparison.groups) {
    names.push_back(group.name);
  }
  return names;
}

}  // namespace chokepoint::analysis
