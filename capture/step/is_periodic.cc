#include "capture/step/is_periodic.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace chokepoint::capture::step {
namespace {

constexpr double kOff = 0.15;       // the median
constexpr double kLeastOff = 0.11;  // of the values: else they are what now and then is added
constexpr std::size_t kMostValuesApart = 48;   // values
constexpr std::size_t kPeriodTimes = 3;        // it has to be seen
constexpr double kLeastAutocorrelation = 0.5;  // of the autocorrelation
constexpr double kValueDeviations = 4;         // that chance does not reach
constexpr double kDip = 0.4;                   // before it: else it is a trend

// Against the median, by powers of two, one of them at most: one value does not outweigh the rest.
std::vector<double> changes(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double median = std::max(sorted[sorted.size() / 2], 1.0);
  std::vector<double> result;
  for (const double value : values) {
    result.push_back(std::clamp(std::log2(std::max(value, 1.0) / median), -1.0, 1.0));
  }
  return result;
}

bool are_alike(const std::vector<double>& changes) {
  const auto off = std::ranges::count_if(
      changes, [](double change) { return std::abs(std::exp2(change) - 1) > kOff; });
  return static_cast<double>(off) < kLeastOff * static_cast<double>(changes.size());
}

void subtract_mean(std::vector<double>& series) {
  double sum = 0;
  for (const double value : series) {
    sum += value;
  }
  const double mean = sum / static_cast<double>(series.size());
  std::ranges::for_each(series, [mean](double& value) { value -= mean; });
}

double alike_after(const std::vector<double>& series, std::size_t lag) {
  double product = 0;
  double left = 0;
  double right = 0;
  for (std::size_t i = lag; i < series.size(); ++i) {
    product += series[i] * series[i - lag];
    left += series[i - lag] * series[i - lag];
    right += series[i] * series[i];
  }
  return left > 0 && right > 0 ? product / std::sqrt(left * right) : 0;
}

}  // namespace

bool is_periodic(std::span<const double> values) {
  if (values.size() < 2 * kPeriodTimes) {
    return false;
  }
  std::vector<double> series = changes(values);
  if (are_alike(series)) {
    return false;
  }
  subtract_mean(series);
  const double enough = std::max(kLeastAutocorrelation,
                                 kValueDeviations / std::sqrt(static_cast<double>(series.size())));
  double lowest = 1;
  for (std::size_t lag = 1; lag <= kMostValuesApart && kPeriodTimes * lag <= series.size(); ++lag) {
    const double alike = alike_after(series, lag);
    if (alike >= enough && alike >= lowest + kDip) {
      return true;
    }
    lowest = std::min(lowest, alike);
  }
  return false;
}

}  // namespace chokepoint::capture::step
