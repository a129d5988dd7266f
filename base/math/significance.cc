#include "base/math/significance.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

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

namespace {

constexpr std::size_t kMaxExact = 60;

// Twice each value's rank, so that ties' mean ranks are whole; the first's values, then the
// second's.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return values[at]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from + 1;
    while (to < order.size() && values[order[to]] == values[order[from]]) {
      ++to;
    }
    for (std::size_t at = from; at < to; ++at) {
      ranks[order[at]] = from + 1 + to;
    }
    from = to;
  }
  return ranks;
}

// By sum: how many subsets of `taken` ranks have it.
std::vector<double> subsets_by_sum(const std::vector<std::size_t>& ranks, std::size_t taken) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> subsets(taken + 1, std::vector<double>(most + 1, 0));
  subsets[0][0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t count = taken; count > 0; --count) {
      for (std::size_t sum = most; sum >= rank; --sum) {
        subsets[count][sum] += subsets[count - 1][sum - rank];
      }
    }
  }
  return std::move(subsets[taken]);
}

double exact_p(const std::vector<std::size_t>& ranks, std::size_t taken, double sum,
               double expected) {
  constexpr double kRounding = 1e-9;  // of sums of halves
  const std::vector<double> subsets = subsets_by_sum(ranks, taken);
  double far = 0;
  double all = 0;
  for (std::size_t at = 0; at < subsets.size(); ++at) {
    all += subsets[at];
    far += std::abs(static_cast<double>(at) - expected) >= std::abs(sum - expected) - kRounding
               ? subsets[at]
               : 0;
  }
  return far / all;
}

double approximate_p(const std::vector<std::size_t>& ranks, std::size_t taken, double sum,
                     double expected) {
  const auto total = static_cast<double>(ranks.size());
  const auto first = static_cast<double>(taken);
  double squares = 0;
  for (const std::size_t rank : ranks) {
    const double off = static_cast<double>(rank) - (total + 1);
    squares += off * off;
  }
  const double variance = first * (total - first) / total / (total - 1) * squares;
  if (variance <= 0) {
    return 1;
  }
  const double off = std::max(0.0, std::abs(sum - expected) - 1);  // a doubled half
  return std::erfc(off / std::sqrt(variance) / std::numbers::sqrt2);
}

}  // namespace

std::optional<double> mann_whitney_p(std::span<const double> first,
                                     std::span<const double> second) {
  if (first.empty() || second.empty()) {
    return std::nullopt;
  }
  std::vector<double> values(first.begin(), first.end());
  values.insert(values.end(), second.begin(), second.end());
  const std::vector<std::size_t> ranks = doubled_ranks(values);
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(first.size());
  const auto sum = static_cast<double>(std::accumulate(ranks.begin(), end, std::size_t{0}));
  const double expected = static_cast<double>(first.size() * (values.size() + 1));
  return values.size() <= kMaxExact ? exact_p(ranks, first.size(), sum, expected)
                                    : approximate_p(ranks, first.size(), sum, expected);
}

double least_mann_whitney_p(std::size_t first, std::size_t second) {
  double subsets = 1;
  for (std::size_t at = 1; at <= second; ++at) {
    subsets *= static_cast<double>(first + at) / static_cast<double>(at);
  }
  return std::min(1.0, 2 / subsets);
}

namespace {

constexpr std::size_t kRounds = 2000;
constexpr std::uint64_t kSeed = 20'241'118;

// Below `end`; the standard's own distributions differ from library to library.
std::size_t draw(std::mt19937_64& chance, std::size_t end) {
  return static_cast<std::size_t>(chance() % end);
}

// Sums from the beginning to each value, so that a block's is one difference.
std::vector<double> sums_of(std::span<const double> values) {
  std::vector<double> sums{0};
  for (const double value : values) {
    sums.push_back(sums.back() + value);
  }
  return sums;
}

double resampled_mean(const std::vector<double>& sums, std::size_t block, std::mt19937_64& chance) {
  const std::size_t count = sums.size() - 1;
  const std::size_t length = std::clamp<std::size_t>(block, 1, count);
  const std::size_t blocks = std::max<std::size_t>(1, (count + length / 2) / length);
  double sum = 0;
  for (std::size_t taken = 0; taken < blocks; ++taken) {
    const std::size_t start = draw(chance, count - length + 1);
    sum += sums[start + length] - sums[start];
  }
  return sum / static_cast<double>(blocks * length);
}

}  // namespace

std::vector<double> block_means(std::span<const double> values, std::size_t blocks) {
  const std::size_t count = std::min(blocks, values.size());
  std::vector<double> means;
  for (std::size_t block = 0; block < count; ++block) {
    const std::size_t from = block * values.size() / count;
    const std::size_t to = (block + 1) * values.size() / count;
    means.push_back(*mean(values.subspan(from, to - from)));
  }
  return means;
}

std::optional<Interval> bootstrap_ratio(std::span<const double> first,
                                        std::span<const double> second, std::size_t block,
                                        double confidence) {
  if (first.empty() || second.empty() || *mean(first) <= 0) {
    return std::nullopt;
  }
  std::mt19937_64 chance(kSeed);
  const std::vector<double> first_sums = sums_of(first);
  const std::vector<double> second_sums = sums_of(second);
  std::vector<double> ratios;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const double below = resampled_mean(first_sums, block, chance);
    const double above = resampled_mean(second_sums, block, chance);
    if (below > 0) {
      ratios.push_back(above / below);
    }
  }
  return ratios.empty() ? std::nullopt
                        : std::optional(Interval{*quantile(ratios, (1 - confidence) / 2),
                                                 *quantile(ratios, (1 + confidence) / 2)});
}

}  // namespace chokepoint::math
