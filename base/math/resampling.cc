#include "base/math/resampling.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/math/statistics.h"

namespace chokepoint::math {
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
