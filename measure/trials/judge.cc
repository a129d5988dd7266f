#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/math/statistics.h"
#include "measure/trials/trials.h"

namespace chokepoint::trials {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kHundred = 100;

std::vector<double> known(const Values& values) {
  std::vector<double> numbers;
  for (const std::optional<double>& value : values) {
    if (value) {
      numbers.push_back(*value);
    }
  }
  return numbers;
}

}  // namespace

std::optional<Estimate> estimate(const Values& values) {
  const std::vector<double> numbers = known(values);
  if (numbers.empty()) {
    return std::nullopt;
  }
  return Estimate{.count = numbers.size(),
                  .mean = *math::mean(numbers),
                  .median = *math::median(numbers),
                  .interval = math::mean_interval(numbers, kConfidence)};
}

std::optional<Difference> judge(const Values& first, const Values& second, double alpha) {
  const std::vector<double> before = known(first);
  const std::vector<double> after = known(second);
  if (before.size() < 2 || after.size() < 2) {
    return std::nullopt;
  }
  const double mean = *math::mean(before);
  const auto test = math::compare_means(before, after, 1 - alpha);
  if (!test || mean == 0) {
    return std::nullopt;
  }
  const double scale = kHundred / std::abs(mean);
  Difference difference{.percent = (*math::mean(after) - mean) * scale,
                        .interval = {test->less.low * scale, test->less.high * scale},
                        .p = test->p};
  if (difference.p < alpha) {
    difference.judged = Judged::Differs;
  } else if (std::max(std::abs(difference.interval.low), std::abs(difference.interval.high)) <
             kAlikePercent) {
    difference.judged = Judged::Alike;
  }
  return difference;
}

double alpha_of_look(double alpha, std::size_t look) {
  const double at = std::numbers::pi * static_cast<double>(std::max<std::size_t>(look, 1));
  return alpha * 6 / (at * at);
}

double alpha_of(const Trials& trials) {
  const std::size_t comparisons = std::max<std::size_t>(trials.variants.size(), 2) - 1;
  const double alpha = kAlpha / static_cast<double>(comparisons);
  if (!trials.is_looked_at_often) {
    return alpha;
  }
  // What is shown of a round that was not completed is one more look.
  const std::size_t more =
      trials.ended_by == End::Interrupted || trials.ended_by == End::Failures ? 1 : 0;
  return alpha_of_look(alpha, std::max(trials.rounds + more, kFirstLook) - kFirstLook + 1);
}

std::optional<std::size_t> deciding_figure(const Trials& trials) {
  for (std::size_t figure = 0; figure < trials.figures.size(); ++figure) {
    const bool has_all = std::ranges::all_of(trials.values, [&](const auto& variant) {
      return std::ranges::any_of(variant[figure], [](const auto& value) { return !!value; });
    });
    if (has_all && !trials.values.empty()) {
      return figure;
    }
  }
  return std::nullopt;
}

}  // namespace chokepoint::trials
