#include <fmt/format.h>

#include <algorithm>

#include "analysis/commands/compare_words.h"

namespace chokepoint::analysis {
namespace {

bool shows(const Shown& shown, const std::string& column) {
  return std::ranges::find(shown.columns, column) != shown.columns.end();
}

bool knows(const Comparison& comparison, Figure figure) {
  return std::ranges::any_of(comparison.groups,
                             [&](const Group& group) { return group[figure].has_value(); });
}

// Of single runs alone.
bool is_by_steps(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [&](const Group& group) {
    return group.difference && group.difference->test == NoiseTest::BlocksOfSteps;
  });
}

}  // namespace

std::vector<std::string> differences_of(const Shown& shown) {
  const Comparison& comparison = shown.comparison;
  if (!shows(shown, kShowChange)) {
    return {};
  }
  std::vector<std::string> worse;
  std::vector<std::string> others;
  std::size_t noise = 0;
  for (const Group& group : comparison.groups) {
    if (!group.difference) {
      continue;
    }
    if (group.difference->is_beyond_noise) {
      const bool is_worse = group.difference->is_worse.value_or(false);
      (is_worse ? worse : others).push_back(sentence_of(comparison, group));
    } else {
      noise += group.difference->test ? 1 : 0;
    }
  }
  worse.insert(worse.end(), others.begin(), others.end());
  if (noise > 0) {
    worse.push_back(fmt::format("{} {} no more than noise", noise,
                                noise == 1 ? "row differs by" : "rows differ by"));
  }
  return worse;
}

std::vector<std::string> remarks_of(const Shown& shown) {
  const Comparison& comparison = shown.comparison;
  std::vector<std::string> remarks = comparison.remarks;
  const bool is_wanted = shows(shown, traits_of(Figure::SamplesPerS).key) ||
                         shows(shown, traits_of(Figure::ScalingFactor).key) ||
                         !shown.are_columns_asked;
  if (is_wanted && !knows(comparison, Figure::SamplesPerS)) {
    remarks.emplace_back(
        "no sample throughput: give 'chokepoint run --samples-per-step N', or --samples-label the "
        "label that says how many a step has");
  } else if (is_wanted && !knows(comparison, Figure::ScalingFactor)) {
    remarks.emplace_back(
        "no scaling factor: no run on one GPU is like these; --baseline names another row");
  }
  if (shows(shown, kShowChange) && is_by_steps(comparison)) {
    remarks.emplace_back(
        "rows of one run each are told apart by their steps alone: how much the job differs from "
        "run to run is not known; 'chokepoint run --repeat 5' tells");
  }
  return remarks;
}

std::vector<std::string> left_out_of(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const LeftOut& run : comparison.left_out) {
    lines.push_back(fmt::format("left out: {}: {}", run.path, run.reason));
  }
  return lines;
}

}  // namespace chokepoint::analysis
