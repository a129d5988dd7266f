#include "analysis/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/compare/causes.h"
#include "analysis/compare/estimate.h"
#include "analysis/compare/keys.h"
#include "analysis/compare/names.h"
#include "analysis/compare/noise.h"
#include "analysis/compare/scaling.h"

namespace chokepoint::analysis {
namespace {

std::string all_keys(const std::vector<ComparedRun>& runs) {
  std::set<std::string> names{"folder", "path", "setup", "nodes", "gpus"};
  for (const ComparedRun& run : runs) {
    for (const auto& [name, value] : run.labels) {
      names.insert(name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<> check_keys(const std::vector<std::string>& keys, const std::vector<ComparedRun>& runs) {
  for (const std::string& key : keys) {
    const bool is_told = std::ranges::any_of(
        runs, [&](const ComparedRun& run) { return value_of(run, key).has_value(); });
    if (!is_told && !is_derived(key)) {
      return fail(ErrorKind::Usage, "", "--by " + key, "none of the runs has such a label",
                  "there are " + all_keys(runs));
    }
  }
  return {};
}

std::vector<std::string> keys_of(const std::vector<ComparedRun>& runs,
                                 const CompareOptions& options) {
  if (!options.keys.empty()) {
    return options.keys;
  }
  std::vector<std::string> keys = usual_keys(runs);
  if (options.by_folder && std::ranges::find(keys, "folder") == keys.end()) {
    keys.insert(keys.begin(), "folder");
  }
  return keys;
}

Figure usual_metric(const std::vector<ComparedRun>& runs) {
  const bool is_told = std::ranges::all_of(
      runs, [](const ComparedRun& run) { return run[Figure::SamplesPerS].has_value(); });
  return is_told ? Figure::SamplesPerS : Figure::StepMs;
}

Result<> check_baseline(const Comparison& comparison, const std::optional<Condition>& condition) {
  if (!condition) {
    return {};
  }
  for (std::size_t group = 0; group < comparison.groups.size(); ++group) {
    if (baseline_of(comparison, group, *condition)) {
      return {};
    }
  }
  std::vector<std::string> words;
  for (const auto& [key, value] : *condition) {
    words.push_back(key + "=" + value);
  }
  std::vector<std::string> names;
  for (const Group& group : comparison.groups) {
    names.push_back(group.name);
  }
  return fail(ErrorKind::Usage, "", fmt::format("--baseline {}", fmt::join(words, ",")),
              "no row is that, or several are",
              fmt::format("the rows are {}, by {}", fmt::join(names, "; "),
                          fmt::join(comparison.keys, ", ")));
}

void set_baselines(Comparison& comparison, const std::optional<Condition>& condition) {
  for (std::size_t group = 0; group < comparison.groups.size(); ++group) {
    const std::optional<std::size_t> baseline =
        condition ? baseline_of(comparison, group, *condition) : std::size_t{0};
    if (baseline && *baseline != group) {
      comparison.groups[group].difference = Difference{.baseline = *baseline};
      comparison.groups[*baseline].is_baseline = true;
    }
  }
}

// Where the steps became longer and yet more samples passed, the steps' accounts explain nothing.
bool agree(const Difference& difference, const Group& before, const Group& after) {
  const bool is_longer = after.accounting->sum() > before.accounting->sum();
  return !difference.is_worse || *difference.is_worse == is_longer;
}

void find_causes(Comparison& comparison) {
  for (Group& group : comparison.groups) {
    if (!group.difference) {
      continue;
    }
    const Group& baseline = comparison.groups[group.difference->baseline];
    if (baseline.accounting && group.accounting && agree(*group.difference, baseline, group)) {
      group.difference->causes = causes_of(*baseline.accounting, *group.accounting);
    }
  }
}

void take_unit(Comparison& comparison) {
  std::set<std::string> units;
  for (const ComparedRun& run : comparison.runs) {
    const auto unit = run.labels.find("unit");
    units.insert(unit == run.labels.end() ? "samples" : unit->second);
  }
  comparison.unit = units.size() == 1 && !units.begin()->empty() ? *units.begin() : "samples";
  if (units.size() > 1) {
    comparison.remarks.push_back(
        fmt::format("their samples are of different units: {}", fmt::join(units, ", ")));
  }
}

// One line for all runs of which the same is to be said.
void take_remarks_of_runs(Comparison& comparison) {
  constexpr std::size_t kMostNamed = 3;
  std::map<std::string, std::vector<std::string>> paths;
  for (const ComparedRun& run : comparison.runs) {
    for (const std::string& line : run.remarks) {
      paths[line].push_back(run.path);
    }
  }
  for (auto& [line, of] : paths) {
    const std::size_t others = of.size() > kMostNamed ? of.size() - kMostNamed : 0;
    of.resize(of.size() - others);
    std::string text = fmt::format("{}: {}", line, fmt::join(of, ", "));
    comparison.remarks.push_back(others == 0 ? text : fmt::format("{} and {} more", text, others));
  }
}

}  // namespace

Result<Comparison> compare(std::vector<ComparedRun> runs, const CompareOptions& options) {
  TRY(check_keys(options.keys, runs));
  Comparison comparison{.keys = keys_of(runs, options),
                        .metric = options.metric.value_or(usual_metric(runs)),
                        .least_percent = options.least_percent,
                        .runs = std::move(runs)};
  group_runs(comparison);
  name_groups(comparison);
  TRY(check_baseline(comparison, options.baseline));
  for (Group& group : comparison.groups) {
    fill(group, runs_of(comparison, group), comparison.confidence);
  }
  fill_scaling(comparison, options.baseline);
  set_baselines(comparison, options.baseline);
  test_differences(comparison);
  find_causes(comparison);
  take_unit(comparison);
  take_remarks_of_runs(comparison);
  if (!options.sort.empty() || options.is_reversed) {
    TRY(sort_groups(comparison, options.sort, options.is_reversed));
  }
  return comparison;
}

}  // namespace chokepoint::analysis
