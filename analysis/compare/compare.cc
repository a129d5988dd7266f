#include "analysis/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "analysis/compare/grouping.h"
#include "analysis/compare/keys.h"

namespace chokepoint::analysis {
namespace {

// Keys that mean nothing on one GPU.
constexpr std::array<std::string_view, 6> kOfSize{"setup", "nodes",       "gpus_per_node",
                                                  "gpus",  "parallelism", "verdict"};

bool has_throughput(const Group& group) {
  return group.gpus && group[Figure::SamplesPerS] && group[Figure::SamplesPerS]->mean > 0;
}

// How many keys a row on one GPU shares with another row; nullopt if they are of different kinds.
std::optional<int> likeness(const Comparison& comparison, const Group& one, const Group& group) {
  int same = 0;
  for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
    const bool is_same = one.values[key] == group.values[key];
    if (!is_same && std::ranges::find(kOfSize, comparison.keys[key]) == kOfSize.end()) {
      return std::nullopt;
    }
    same += is_same ? 1 : 0;
  }
  return same;
}

std::optional<std::size_t> single_for(const Comparison& comparison, const Group& group) {
  std::optional<std::size_t> best;
  int most = -1;
  for (std::size_t place = 0; place < comparison.groups.size(); ++place) {
    const Group& one = comparison.groups[place];
    const std::optional<int> like =
        has_throughput(one) && *one.gpus == 1 ? likeness(comparison, one, group) : std::nullopt;
    if (like && *like > most) {
      best = place;
      most = *like;
    }
  }
  return best;
}

// Without the reference's own spread, which all rows share.
Estimate scaled(const Estimate& throughput, double by) {
  Estimate factor = throughput;
  factor.mean *= by;
  factor.min *= by;
  factor.max *= by;
  if (factor.sd) {
    *factor.sd *= by;
  }
  if (factor.interval) {
    factor.interval->low *= by;
    factor.interval->high *= by;
  }
  return factor;
}

std::string all_keys(const std::vector<ComparedRun>& runs) {
  std::set<std::string> names = all_labels(runs);
  names.insert({"folder", "path", "setup", "nodes", "gpus"});
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<> check_keys(const std::vector<std::string>& keys, const std::vector<ComparedRun>& runs) {
  for (const std::string& key : keys) {
    const bool is_known = std::ranges::any_of(
        runs, [&](const ComparedRun& run) { return value_of(run, key).has_value(); });
    if (!is_known && !is_derived(key)) {
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

// Of documents the first of their figures that all have, else that most have.
Figure usual_metric_of_probes(const std::vector<ComparedRun>& runs) {
  Figure best = figure_at(kRunFigures);
  std::ptrdiff_t most = 0;
  for (std::size_t at = kRunFigures; at < kFigures; ++at) {
    const auto count = std::ranges::count_if(
        runs, [&](const ComparedRun& run) { return run[figure_at(at)].has_value(); });
    if (count > most) {
      best = figure_at(at);
      most = count;
    }
  }
  return best;
}

Figure usual_metric(const std::vector<ComparedRun>& runs) {
  if (runs.front().is_probe) {
    return usual_metric_of_probes(runs);
  }
  const bool is_known = std::ranges::all_of(
      runs, [](const ComparedRun& run) { return run[Figure::SamplesPerS].has_value(); });
  return is_known ? Figure::SamplesPerS : Figure::StepMs;
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

// If the steps became longer and yet more samples passed, the steps' accounts explain nothing.
bool agree(const Difference& difference, const Group& before, const Group& after) {
  const bool is_longer = after.accounting->sum() > before.accounting->sum();
  return !difference.is_worse || *difference.is_worse == is_longer;
}

void find_facts(Comparison& comparison) {
  for (Group& group : comparison.groups) {
    if (group.difference) {
      group.difference->facts =
          changes_between(runs_of(comparison, comparison.groups[group.difference->baseline]),
                          runs_of(comparison, group));
    }
  }
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

// One line for all runs with the same remark.
void take_remarks_of_runs(Comparison& comparison) {
  constexpr std::size_t kMaxNamed = 3;
  std::map<std::string, std::vector<std::string>> paths;
  for (const ComparedRun& run : comparison.runs) {
    for (const std::string& line : run.remarks) {
      paths[line].push_back(run.path);
    }
  }
  for (auto& [line, of] : paths) {
    const std::size_t others = of.size() > kMaxNamed ? of.size() - kMaxNamed : 0;
    of.resize(of.size() - others);
    std::string text = fmt::format("{}: {}", line, fmt::join(of, ", "));
    comparison.remarks.push_back(others == 0 ? text : fmt::format("{} and {} more", text, others));
  }
}

}  // namespace

std::vector<AccountChange> causes_of(const Accounting& before, const Accounting& after) {
  constexpr double kSmallPercent = 5;
  constexpr double kNoMs = 1e-6;
  const double step_ms = after.sum() - before.sum();
  std::vector<AccountChange> causes;
  if (std::abs(step_ms) < kNoMs) {
    return causes;
  }
  for (std::size_t at = 0; at < kAccounts; ++at) {
    const double ms = after.ms[at] - before.ms[at];
    const double share = ms / step_ms * 100;
    if (share >= kSmallPercent) {
      causes.push_back(
          {.account = static_cast<Account>(at), .ms_per_step = ms, .share_percent = share});
    }
  }
  std::ranges::stable_sort(causes, std::greater<>{}, &AccountChange::share_percent);
  return causes;
}

void fill_scaling(Comparison& comparison, const std::optional<Condition>& baseline) {
  for (std::size_t place = 0; place < comparison.groups.size(); ++place) {
    Group& group = comparison.groups[place];
    if (!has_throughput(group)) {
      continue;
    }
    std::optional<std::size_t> reference = single_for(comparison, group);
    if (!reference && baseline) {
      reference = baseline_of(comparison, place, *baseline);
    }
    if (!reference || !has_throughput(comparison.groups[*reference])) {
      continue;
    }
    const Group& one = comparison.groups[*reference];
    const double each = one[Figure::SamplesPerS]->mean / static_cast<double>(*one.gpus);
    group.scaling_reference = reference;
    group.figures[place_of(Figure::ScalingFactor)] =
        scaled(*group[Figure::SamplesPerS], 1 / (each * static_cast<double>(*group.gpus)));
  }
}

Result<Comparison> compare(std::vector<ComparedRun> runs, const CompareOptions& options) {
  TRY(check_keys(options.keys, runs));
  const bool is_of_probes = runs.front().is_probe;
  if (is_of_probes) {
    tell_apart_by_facts(runs);
  }
  Comparison comparison{.is_of_probes = is_of_probes,
                        .keys = keys_of(runs, options),
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
  find_facts(comparison);
  take_unit(comparison);
  take_remarks_of_runs(comparison);
  if (!options.sort.empty() || options.is_reversed) {
    TRY(sort_groups(comparison, options.sort, options.is_reversed));
  }
  return comparison;
}

}  // namespace chokepoint::analysis
