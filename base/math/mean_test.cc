#include "base/math/mean_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

#include "base/math/statistics.h"

namespace chokepoint::math {
namespace {

// A mean, or a difference of two, and how sure it is.
struct Estimate {
  double value = 0;
  double error = 0;    // the standard one
  double freedom = 1;  // degrees of it
};

Interval interval_of(const Estimate& estimate, double confidence) {
  const boost::math::students_t distribution(estimate.freedom);
  const double reach = boost::math::quantile(distribution, (1 + confidence) / 2) * estimate.error;
  return {estimate.value - reach, estimate.value + reach};
}

double p_of(const Estimate& estimate) {
  if (estimate.error <= 0) {
    return estimate.value == 0 ? 1 : 0;
  }
  const boost::math::students_t distribution(estimate.freedom);
  const double away = std::abs(estimate.value) / estimate.error;
  return 2 * boost::math::cdf(boost::math::complement(distribution, away));
}

Estimate mean_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  return {.value = *mean(values),
          .error = standard_deviation(values).value_or(0) / std::sqrt(count),
          .freedom = std::max(1.0, count - 1)};
}

Estimate difference_of(std::span<const double> first, std::span<const double> second) {
  Estimate one = mean_of(first);
  Estimate other = mean_of(second);
  const double value = other.value - one.value;
  const bool is_single = first.size() == 1 || second.size() == 1;
  if (is_single) {
    const Estimate& known = first.size() == 1 ? other : one;
    return {.value = value,
            .error = known.error * std::sqrt(known.freedom + 2),
            .freedom = known.freedom};
  }
  const double variance = one.error * one.error + other.error * other.error;
  const double weight =
      std::pow(one.error, 4) / one.freedom + std::pow(other.error, 4) / other.freedom;
  return {.value = value,
          .error = std::sqrt(variance),
          .freedom = weight > 0 ? variance * variance / weight : one.freedom + other.freedom};
}

}  // namespace

std::optional<double> standard_deviation(std::span<const double> values) {
  if (values.size() < 2) {
    return std::nullopt;
  }
  const double center = *mean(values);
  double squares = 0;
  for (const double value : values) {
    squares += (value - center) * (value - center);
  }
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<Interval> mean_interval(std::span<const double> values, double confidence) {
  return values.size() < 2 ? std::nullopt : std::optional(interval_of(mean_of(values), confidence));
}

std::optional<MeanTest> compare_means(std::span<const double> first, std::span<const double> second,
                                      double confidence) {
  if (first.empty() || second.empty() || first.size() + second.size() < 3) {
    return std::nullopt;
  }
  const Estimate difference = difference_of(first, second);
  return MeanTest{.p = p_of(difference), .less = interval_of(difference, confidence)};
}

std::vector<double> corrected(std::span<const double> ps) {
  std::vector<std::size_t> order(ps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return ps[at]; });
  std::vector<double> result(ps.size());
  double least = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto left = static_cast<double>(order.size() - place);
    least = std::max(least, std::min(1.0, ps[order[place]] * left));
    result[order[place]] = least;
  }
  return result;
}

}  // namespace chokepoint::math
