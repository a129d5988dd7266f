#include "base/math/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace chokepoint::math {
namespace {

constexpr std::size_t kMostExact = 60;

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

// In how many ways `taken` of the ranks come to each sum.
std::vector<double> ways_of(const std::vector<std::size_t>& ranks, std::size_t taken) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(taken + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t count = taken; count > 0; --count) {
      for (std::size_t sum = most; sum >= rank; --sum) {
        ways[count][sum] += ways[count - 1][sum - rank];
      }
    }
  }
  return std::move(ways[taken]);
}

double exact_p(const std::vector<std::size_t>& ranks, std::size_t taken, double sum,
               double expected) {
  constexpr double kSame = 1e-9;
  const std::vector<double> ways = ways_of(ranks, taken);
  double far = 0;
  double all = 0;
  for (std::size_t at = 0; at < ways.size(); ++at) {
    all += ways[at];
    far += std::abs(static_cast<double>(at) - expected) >= std::abs(sum - expected) - kSame
               ? ways[at]
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
  return values.size() <= kMostExact ? exact_p(ranks, first.size(), sum, expected)
                                     : approximate_p(ranks, first.size(), sum, expected);
}

double least_mann_whitney_p(std::size_t first, std::size_t second) {
  double ways = 1;
  for (std::size_t at = 1; at <= second; ++at) {
    ways *= static_cast<double>(first + at) / static_cast<double>(at);
  }
  return std::min(1.0, 2 / ways);
}

}  // namespace chokepoint::math
