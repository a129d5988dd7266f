#include "base/trends/split_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

#include "base/math/statistics.h"

namespace chokepoint::trends {
namespace {

// Huber's: of normal values a mean of what is cut at 1.5 deviations is nearly as good as the mean.
constexpr double kLevelReach = 1.5;
constexpr double kTailReach = 3;     // beyond, a value counts no more than one that is so far off
constexpr double kLeastFreedom = 4;  // with few points the inflation is a guess
constexpr double kSpikeReach = 10;   // the same, where the deviation itself is measured
constexpr double kDeviationsPerMeanDistance = 1.2533141373155003;  // of normal values: √(π/2)

std::vector<double> residuals(std::span<const double> values, std::size_t k) {
  const double before = *math::median(values.first(k));
  const double after = *math::median(values.subspan(k));
  std::vector<double> result(values.begin(), values.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] -= i < k ? before : after;
  }
  return result;
}

// By the median of distances, or by their mean where that is larger: most values may be equal.
double deviation_of(std::span<const double> residuals) {
  std::vector<double> distances(residuals.size());
  std::ranges::transform(residuals, distances.begin(), [](double r) { return std::abs(r); });
  const double by_median = *math::median(distances) * math::kDeviationsPerMedianDeviation;
  const double most =
      by_median > 0 ? kSpikeReach * by_median : std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const double distance : distances) {
    sum += std::min(distance, most);
  }
  const double by_mean = kDeviationsPerMeanDistance * sum / static_cast<double>(distances.size());
  return std::max(by_median, by_mean);
}

double level_of(std::span<const double> values, double deviation) {
  const double center = *math::median(values);
  double sum = 0;
  for (const double value : values) {
    sum += std::clamp(value - center, -kLevelReach * deviation, kLevelReach * deviation);
  }
  return center + sum / static_cast<double>(values.size());
}

// Neighbours' correlation, as of a first-order process: (1 + ρ) / (1 − ρ).
double inflation_by_neighbours(std::span<const double> residuals) {
  constexpr double kMaxCorrelation = 0.9;
  double product = 0;
  double squares = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    squares += residuals[i] * residuals[i];
    product += i > 0 ? residuals[i] * residuals[i - 1] : 0;
  }
  if (squares <= 0) {
    return 1;
  }
  // Residuals of two fitted levels look less correlated than the noise is.
  const double seen = product / squares;
  const double true_one = seen + 2 * (1 + seen) / static_cast<double>(residuals.size());
  const double correlation = std::clamp(true_one, 0.0, kMaxCorrelation);
  return (1 + correlation) / (1 - correlation);
}

// By the means of all blocks of so many neighbours, which overlap.
double inflation_by_blocks(std::span<const double> residuals, std::size_t length, double squares) {
  const std::size_t count = residuals.size();
  double sum = std::accumulate(residuals.begin(),
                               residuals.begin() + static_cast<std::ptrdiff_t>(length), 0.0);
  double of_sums = sum * sum;
  for (std::size_t i = length; i < count; ++i) {
    sum += residuals[i] - residuals[i - length];
    of_sums += sum * sum;
  }
  const auto size = static_cast<double>(length);
  const double fitted = 1 - 2 * size / static_cast<double>(count);  // the levels follow the noise
  const double mean_square = of_sums / static_cast<double>(count - length + 1);
  return mean_square / (size * squares / static_cast<double>(count)) / fitted;
}

double inflation_of(std::span<const double> residuals, std::size_t longest) {
  constexpr std::size_t kLeastBlocks = 6;  // fewer say nothing of their spread
  double squares = 0;
  for (const double residual : residuals) {
    squares += residual * residual;
  }
  if (squares <= 0) {
    return 1;
  }
  double inflation = std::max(1.0, inflation_by_neighbours(residuals));
  for (std::size_t length = 2; length <= longest && length * kLeastBlocks <= residuals.size();
       length *= 2) {
    inflation = std::max(inflation, inflation_by_blocks(residuals, length, squares));
  }
  return inflation;
}

double p_of(double statistic, double freedom) {
  const boost::math::students_t distribution(freedom);
  return 2 * boost::math::cdf(boost::math::complement(distribution, statistic));
}

double squared(double value) { return value * value; }

// What a value costs that lies so far from where it should.
double cost(double distance, double deviation) {
  constexpr double kReach = 5;  // deviations; a value that is further off proves no more
  return std::min(squared(distance / deviation), squared(kReach));
}

}  // namespace

SplitFit fit_split(std::span<const double> values, std::size_t k, double min_deviation) {
  const auto first = static_cast<double>(k);
  const auto second = static_cast<double>(values.size() - k);
  std::vector<double> rest = residuals(values, k);
  const double own = std::max(deviation_of(rest), min_deviation);
  // Of two levels, not of one: both medians follow their values.
  const double deviation = own * std::sqrt((first + second) / std::max(1.0, first + second - 2));
  for (double& residual : rest) {
    residual = std::clamp(residual, -kTailReach * own, kTailReach * own);
  }
  SplitFit fit{.before = level_of(values.first(k), own),
               .after = level_of(values.subspan(k), own),
               .deviation = deviation,
               .inflation = inflation_of(rest, std::min(k, values.size() - k))};
  const double later = std::max(deviation, deviation_of(std::span(rest).subspan(k)) *
                                               std::sqrt(second / std::max(1.0, second - 1)));
  const double variance = fit.inflation * (squared(deviation) / first + squared(later) / second);
  // Of a deviation, which neighbours' correlation makes uncertain less than it does a mean.
  const double repeated = (squared(fit.inflation) + 1) / (2 * fit.inflation);
  fit.freedom = std::max(kLeastFreedom, (first + second) / repeated - 2);
  if (variance > 0) {
    fit.statistic = std::abs(fit.after - fit.before) / std::sqrt(variance);
    fit.p = p_of(fit.statistic, fit.freedom);
  }
  return fit;
}

std::vector<double> without_spikes(std::span<const double> values, double reach) {
  constexpr std::size_t kSide = 2;
  std::vector<double> result(values.begin(), values.end());
  std::array<double, 2 * kSide + 1> near{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i < kSide ? 0 : i - kSide;
    const std::size_t to = std::min(values.size(), i + kSide + 1);
    const auto end = std::copy(values.begin() + static_cast<std::ptrdiff_t>(from),
                               values.begin() + static_cast<std::ptrdiff_t>(to), near.begin());
    const auto middle = near.begin() + static_cast<std::ptrdiff_t>((to - from) / 2);
    std::nth_element(near.begin(), middle, end);
    if (std::abs(values[i] - *middle) > reach) {
      result[i] = *middle;
    }
  }
  return result;
}

double deviation_by_differences(std::span<const double> values) {
  if (values.size() < 2) {
    return 0;
  }
  std::vector<double> differences(values.size() - 1);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    differences[i] = std::abs(values[i + 1] - values[i]);
  }
  return *math::median(differences) * math::kDeviationsPerMedianDeviation / std::numbers::sqrt2;
}

namespace {

constexpr double kNsPerHour = 3600e9;

// Sums about the mean, for a regression on one or two variables.
struct Moments {
  double of_line = 0;  // Σ(x − x̄)²
  double of_step = 0;
  double of_both = 0;
  double line_value = 0;
  double step_value = 0;
  double of_value = 0;
};

Moments moments_of(std::span<const double> line, std::span<const double> values, std::size_t k) {
  const auto count = static_cast<double>(values.size());
  const double share = static_cast<double>(values.size() - k) / count;
  const double mean_line = *math::mean(line);
  const double mean_value = *math::mean(values);
  Moments sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = line[i] - mean_line;
    const double step = (i < k ? 0 : 1) - share;
    const double y = values[i] - mean_value;
    sums.of_line += x * x;
    sums.of_step += step * step;
    sums.of_both += x * step;
    sums.line_value += x * y;
    sums.step_value += step * y;
    sums.of_value += y * y;
  }
  return sums;
}

// Does a level that turns into a line at some time fit as well as two levels?
bool is_hinge(std::span<const double> hours, std::span<const double> values, std::size_t k,
              double of_levels) {
  constexpr std::size_t kTurns = 16;
  std::vector<double> line(hours.size());
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    const double from = hours[turn * (values.size() - 1) / kTurns];
    std::ranges::transform(hours, line.begin(),
                           [&](double hour) { return std::max(0.0, hour - from); });
    const Moments sums = moments_of(line, values, k);
    if (sums.of_line > 0 && sums.of_value - squared(sums.line_value) / sums.of_line <= of_levels) {
      return true;
    }
  }
  return false;
}

// Is little left of the step where the same values may have a slope besides?
bool is_slope(std::span<const double> hours, std::span<const double> values, std::size_t k,
              const SplitFit& fit) {
  constexpr double kLeastShare = 0.5;
  constexpr double kLeastStatistic = 4;
  const Moments sums = moments_of(hours, values, k);
  const double determinant = sums.of_line * sums.of_step - squared(sums.of_both);
  if (determinant <= 0) {
    return false;
  }
  const double step =
      (sums.of_line * sums.step_value - sums.of_both * sums.line_value) / determinant;
  const double error = fit.deviation * std::sqrt(fit.inflation * sums.of_line / determinant);
  const double size = fit.after - fit.before;
  return step / size < kLeastShare || std::abs(step) < kLeastStatistic * error;
}

}  // namespace

bool is_drift(std::span<const std::int64_t> times_ns, std::span<const double> values, std::size_t k,
              const SplitFit& fit) {
  std::vector<double> hours(values.size());
  std::vector<double> cut(values.size());
  double of_levels = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    hours[i] = static_cast<double>(times_ns[i] - times_ns[0]) / kNsPerHour;
    const double level = i < k ? 0 : fit.after - fit.before;
    const double rest = values[i] - (i < k ? fit.before : fit.after);
    // Cut alike for all models.
    const double near = std::clamp(rest, -kTailReach * fit.deviation, kTailReach * fit.deviation);
    of_levels += near * near;
    cut[i] = level + near;
  }
  return is_hinge(hours, cut, k, of_levels) || is_slope(hours, cut, k, fit);
}

SplitRange split_range(std::span<const std::int64_t> times_ns, std::span<const double> values,
                       const SplitFit& fit, std::size_t from, std::size_t to) {
  constexpr double kCertainty = 0.95;
  constexpr double kMostDeviations = 12;  // between levels: the noise may differ between them
  const double deviation =
      std::max({fit.deviation, std::abs(fit.after - fit.before) / kMostDeviations,
                std::numeric_limits<double>::min()});
  struct Place {
    std::size_t k = 0;
    double cost = 0;
  };
  std::vector<Place> places;
  double sum = 0;  // of the costs where [from, k) has the first level, less where it has the second
  for (std::size_t k = from; k <= to; ++k) {
    if (k > from) {
      sum +=
          cost(values[k - 1] - fit.before, deviation) - cost(values[k - 1] - fit.after, deviation);
    }
    if (times_ns[k] != times_ns[k - 1]) {
      places.push_back({k, sum});
    }
  }
  std::ranges::sort(places, {}, &Place::cost);
  const auto weight = [&](const Place& place) {
    return std::exp((places.front().cost - place.cost) / 2 / fit.inflation);
  };
  double all = 0;
  for (const Place& place : places) {
    all += weight(place);
  }
  SplitRange range{places.front().k, places.front().k, places.front().k};
  double held = 0;
  for (const Place& place : places) {
    if (held >= kCertainty * all) {
      break;
    }
    held += weight(place);
    range.low = std::min(range.low, place.k);
    range.high = std::max(range.high, place.k);
  }
  return range;
}

}  // namespace chokepoint::trends
