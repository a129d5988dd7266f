#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/compare/compare.h"
#include "analysis/compare/grouping.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t kMinForRanks = 4;  // runs on either side
constexpr std::size_t kMaxBlocks = 12;
constexpr std::size_t kMinInBlock = 3;  // steps
constexpr std::size_t kMinSteps = 12;
// Repetitions of a job differ by more than their steps show.
constexpr double kMinPercentOfSingles = 5;

struct Sides {
  ComparedRuns before;
  ComparedRuns after;
  Numbers before_values;
  Numbers after_values;
};

Sides sides_of(const Comparison& comparison, const Group& group) {
  Sides sides;
  sides.before = runs_of(comparison, comparison.groups[group.difference->baseline]);
  sides.after = runs_of(comparison, group);
  sides.before_values = values_of(sides.before, comparison.metric);
  sides.after_values = values_of(sides.after, comparison.metric);
  return sides;
}

// Steps show the noise of figures that are made of steps; a duration or a volume is one number.
bool is_of_steps(Figure figure) {
  return figure == Figure::StepMs || figure == Figure::MedianStepMs ||
         figure == Figure::SamplesPerS;
}

math::Interval as_percent(math::Interval ratio) {
  return {(ratio.low - 1) * 100, (ratio.high - 1) * 100};
}

void compare_means(const Sides& sides, NoiseTest test, double confidence, Difference& difference) {
  const std::optional<math::MeanTest> found =
      math::compare_means(sides.before_values, sides.after_values, confidence);
  if (!found) {
    return;
  }
  difference.test = test;
  difference.p = found->p;
  if (difference.before.value_or(0) > 0) {
    const double whole = *difference.before;
    difference.percent = {found->less.low / whole * 100, found->less.high / whole * 100};
  }
}

void compare_ranks(const Sides& sides, double confidence, Difference& difference) {
  compare_means(sides, NoiseTest::MannWhitney, confidence, difference);  // for the interval
  difference.test = NoiseTest::MannWhitney;
  difference.p = math::mann_whitney_p(sides.before_values, sides.after_values);
}

// Of each settled step what the metric is made of: its time, or that time over its samples.
Numbers steps_of(const ComparedRuns& runs, Figure metric) {
  const auto found = std::ranges::find_if(
      runs, [&](const ComparedRun* run) { return (*run)[metric].has_value(); });
  const ComparedRun& run = **found;
  Numbers steps = run.step_ms;
  if (metric == Figure::SamplesPerS && !steps.empty()) {
    const double samples = run[metric]->value * *math::mean(steps);
    if (samples <= 0) {
      return {};  // steps that took no time have no pace
    }
    for (double& step : steps) {
      step /= samples;
    }
  }
  return steps;
}

void compare_steps(const Sides& sides, Figure metric, double confidence, Difference& difference) {
  const Numbers before = steps_of(sides.before, metric);
  const Numbers after = steps_of(sides.after, metric);
  const std::size_t fewest = std::min(before.size(), after.size());
  if (!is_of_runs(metric)) {
    difference.why_no_test = "one document each, and how they scatter is not known";
    return;
  }
  if (!is_of_steps(metric)) {
    difference.why_no_test = "one run each, and no steps that would show this figure's noise";
    return;
  }
  if (fewest < kMinSteps) {
    difference.why_no_test =
        fmt::format("one run each: {} settled steps needed, {} there", kMinSteps, fewest);
    return;
  }
  const auto blocks = [](const Numbers& steps) {
    return math::block_means(steps, std::min(kMaxBlocks, steps.size() / kMinInBlock));
  };
  difference.test = NoiseTest::BlocksOfSteps;
  difference.p = math::mann_whitney_p(blocks(before), blocks(after));
  const std::size_t block = std::max(kMinInBlock, fewest / kMaxBlocks);
  const auto ratio = metric == Figure::SamplesPerS  // faster steps are more samples
                         ? math::bootstrap_ratio(after, before, block, confidence)
                         : math::bootstrap_ratio(before, after, block, confidence);
  difference.percent = ratio ? std::optional(as_percent(*ratio)) : std::nullopt;
}

void take_change(const Sides& sides, const Comparison& comparison, Difference& difference) {
  const auto before = estimate_of(sides.before_values, comparison.confidence);
  const auto after = estimate_of(sides.after_values, comparison.confidence);
  difference.before = before ? std::optional(before->mean) : std::nullopt;
  difference.after = after ? std::optional(after->mean) : std::nullopt;
  if (before && after && before->mean != 0) {
    difference.change_percent = (after->mean / before->mean - 1) * 100;
  }
}

void test(const Sides& sides, const Comparison& comparison, double level, Difference& difference) {
  take_change(sides, comparison, difference);
  const std::size_t before = sides.before_values.size();
  const std::size_t after = sides.after_values.size();
  if (before == 0 || after == 0) {
    difference.why_no_test = "the figure is not known of both";
  } else if (std::min(before, after) >= kMinForRanks &&
             math::least_mann_whitney_p(before, after) <= level) {
    compare_ranks(sides, comparison.confidence, difference);
  } else if (before + after > 2) {
    const bool is_single = std::min(before, after) == 1;
    compare_means(sides, is_single ? NoiseTest::SingleRun : NoiseTest::Welch, comparison.confidence,
                  difference);
  } else {
    compare_steps(sides, comparison.metric, comparison.confidence, difference);
  }
}

void mark(const Comparison& comparison, Difference& difference) {
  constexpr double kRounding = 1e-12;
  const double least = difference.test == NoiseTest::BlocksOfSteps
                           ? std::max(comparison.least_percent, kMinPercentOfSingles)
                           : comparison.least_percent;
  difference.is_beyond_noise = difference.p_corrected &&
                               *difference.p_corrected <= 1 - comparison.confidence + kRounding &&
                               std::abs(difference.change_percent.value_or(0)) >= least;
  const Better better = traits_of(comparison.metric).better;
  if (difference.is_beyond_noise && better != Better::Neither) {
    difference.is_worse = (*difference.change_percent > 0) == (better == Better::Less);
  }
}

}  // namespace

const char* words_of(NoiseTest test) {
  switch (test) {
    case NoiseTest::MannWhitney:
      return "by the ranks of the runs";
    case NoiseTest::Welch:
      return "by Welch's test of the runs";
    case NoiseTest::SingleRun:
      return "by one run against the others' spread";
    case NoiseTest::BlocksOfSteps:
      return "by the steps of one run each";
  }
  return "";
}

void test_differences(Comparison& comparison) {
  const auto tested = std::ranges::count_if(
      comparison.groups, [](const Group& group) { return group.difference.has_value(); });
  const double level = (1 - comparison.confidence) / std::max(1.0, static_cast<double>(tested));
  std::vector<Difference*> found;
  Numbers ps;
  for (Group& group : comparison.groups) {
    if (group.difference) {
      test(sides_of(comparison, group), comparison, level, *group.difference);
    }
    if (group.difference && group.difference->p) {
      found.push_back(&*group.difference);
      ps.push_back(*group.difference->p);
    }
  }
  const Numbers all = math::corrected(ps);
  for (std::size_t at = 0; at < found.size(); ++at) {
    found[at]->p_corrected = all[at];
    mark(comparison, *found[at]);
  }
}

}  // namespace chokepoint::analysis
