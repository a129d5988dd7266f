#include "capture/step/smooth.h"

#include <algorithm>
#include <numeric>

namespace chokepoint::capture::step {
namespace {

constexpr double kMostOfMean = 4;

}  // namespace

std::vector<float> box_mean(std::span<const float> series, std::size_t width) {
  std::vector<double> sums(series.size() + 1);
  std::partial_sum(series.begin(), series.end(), sums.begin() + 1, std::plus<double>());
  std::vector<float> result(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t from = i > width / 2 ? i - width / 2 : 0;
    const std::size_t to = std::min(i + width / 2 + 1, series.size());
    result[i] = static_cast<float>((sums[to] - sums[from]) / static_cast<double>(to - from));
  }
  return result;
}

std::vector<float> smoothed(std::span<const float> series, std::size_t width) {
  return box_mean(box_mean(box_mean(series, width), width), width);
}

std::vector<float> clipped(std::span<const float> series) {
  double sum = 0;
  double count = 0;
  for (const float value : series) {
    sum += value;
    count += value > 0 ? 1 : 0;
  }
  const auto most = static_cast<float>(count > 0 ? kMostOfMean * sum / count : 0);
  std::vector<float> result(series.begin(), series.end());
  std::ranges::for_each(result, [most](float& value) { value = std::min(value, most); });
  return result;
}

}  // namespace chokepoint::capture::step
