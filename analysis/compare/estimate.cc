#include "analysis/compare/estimate.h"

#include <algorithm>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

std::optional<std::int64_t> gpus_of(const RunList& runs) {
  const std::optional<std::int64_t> first = runs.front()->gpus;
  const bool agree = std::ranges::all_of(runs, [&](const auto* run) { return run->gpus == first; });
  return agree ? first : std::nullopt;
}

std::optional<Accounting> mean_accounting(const RunList& runs) {
  Accounting sum;
  std::size_t count = 0;
  for (const ComparedRun* run : runs) {
    if (run->accounting) {
      ++count;
      for (std::size_t at = 0; at < kAccounts; ++at) {
        sum.ms[at] += run->accounting->ms[at];
      }
    }
  }
  for (double& ms : sum.ms) {
    ms /= static_cast<double>(std::max<std::size_t>(count, 1));
  }
  return count > 0 ? std::optional(sum) : std::nullopt;
}

void take_verdicts(const RunList& runs, Group& group) {
  std::map<VerdictClass, std::size_t> counts;
  for (const ComparedRun* run : runs) {
    ++counts[run->verdict.verdict];
    ++group.verdicts[name_of(run->verdict.verdict)];
  }
  group.verdict =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
}

}  // namespace

RunList runs_of(const Comparison& comparison, const Group& group) {
  RunList runs;
  for (const std::size_t run : group.runs) {
    runs.push_back(&comparison.runs[run]);
  }
  return runs;
}

std::vector<double> values_of(const RunList& runs, Figure figure) {
  std::vector<double> values;
  for (const ComparedRun* run : runs) {
    if ((*run)[figure]) {
      values.push_back((*run)[figure]->value);
    }
  }
  return values;
}

std::optional<Estimate> estimate_of(std::span<const double> values, double confidence) {
  if (values.empty()) {
    return std::nullopt;
  }
  return Estimate{.mean = *math::mean(values),
                  .min = *std::ranges::min_element(values),
                  .max = *std::ranges::max_element(values),
                  .count = values.size(),
                  .sd = math::standard_deviation(values),
                  .interval = math::mean_interval(values, confidence)};
}

void fill(Group& group, const RunList& runs, double confidence) {
  for (std::size_t at = 0; at < kFigures; ++at) {
    group.figures[at] = estimate_of(values_of(runs, figure_at(at)), confidence);
  }
  group.gpus = gpus_of(runs);
  group.accounting = mean_accounting(runs);
  take_verdicts(runs, group);
}

}  // namespace chokepoint::analysis
