#include "analysis/timeline/delay_floor.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kPartsForSlope = 32;
constexpr std::size_t kPacketsOfPart = 4;
constexpr std::size_t kLeastSlopes = 3;
constexpr std::size_t kLeastForOutliers = 8;
constexpr std::size_t kOutliers = 20;  // one in so many at most
constexpr double kAlone = 50e3;        // ns below the next one
constexpr double kAloneTimes = 2;      // what the usual ones lie above the next one

// The quickest of each part, whether or not it is believed.
std::vector<OneWayDelay> quickest(const std::vector<OneWayDelay>& delays, double slope,
                                  double length_ns, std::size_t parts) {
  std::vector<std::optional<OneWayDelay>> found(parts);
  const double scale = static_cast<double>(parts) / std::max(length_ns, 1.0);
  for (const OneWayDelay& delay : delays) {
    const auto at = static_cast<std::size_t>(std::max(0.0, delay.t_ns * scale));
    auto& best = found[std::min(at, parts - 1)];
    if (!best || delay.delay_ns - slope * delay.t_ns < best->delay_ns - slope * best->t_ns) {
      best = delay;
    }
  }
  std::vector<OneWayDelay> result;
  for (const auto& one : found) {
    if (one) result.push_back(*one);
  }
  return result;
}

void add_slopes(const std::vector<OneWayDelay>& delays, double sign, double length_ns,
                std::vector<double>& slopes) {
  const std::size_t parts =
      std::clamp<std::size_t>(delays.size() / kPacketsOfPart, 1, kPartsForSlope);
  const std::vector<OneWayDelay> floor = quickest(delays, 0, length_ns, parts);
  for (std::size_t i = 0; i < floor.size(); ++i) {
    for (std::size_t j = i + 1; j < floor.size(); ++j) {
      const double apart_ns = floor[j].t_ns - floor[i].t_ns;
      if (apart_ns * kPartsForSlope < length_ns) continue;
      slopes.push_back(sign * (floor[j].delay_ns - floor[i].delay_ns) / apart_ns);
    }
  }
}

// The one that lies alone below all the others, if there is one.
std::optional<std::size_t> alone(const std::vector<OneWayDelay>& floor, double slope) {
  std::vector<std::pair<double, std::size_t>> levels;
  for (std::size_t i = 0; i < floor.size(); ++i) {
    levels.emplace_back(floor[i].delay_ns - slope * floor[i].t_ns, i);
  }
  std::ranges::sort(levels);
  const double gap = levels[1].first - levels[0].first;
  const double usual = levels[levels.size() / 2].first - levels[1].first;
  if (gap < kAlone || gap < kAloneTimes * usual) return {};
  return levels[0].second;
}

}  // namespace

double usual_slope(const OneWayDelays& delays) {
  std::vector<double> slopes;
  add_slopes(delays.there, 1, delays.length_ns, slopes);
  add_slopes(delays.back, -1, delays.length_ns, slopes);
  if (slopes.size() < kLeastSlopes) return 0;
  return math::median(slopes).value_or(0);
}

std::vector<OneWayDelay> floor_of(const std::vector<OneWayDelay>& delays, double slope,
                                  double length_ns, std::size_t parts) {
  std::vector<OneWayDelay> floor = quickest(delays, slope, length_ns, parts);
  for (std::size_t left = floor.size() / kOutliers + 1; left > 0; --left) {
    if (floor.size() < kLeastForOutliers) break;
    const std::optional<std::size_t> outlier = alone(floor, slope);
    if (!outlier) break;
    floor.erase(floor.begin() + static_cast<std::ptrdiff_t>(*outlier));
  }
  return floor;
}

double least(std::span<const OneWayDelay> delays, double slope) {
  double result = std::numeric_limits<double>::infinity();
  for (const OneWayDelay& delay : delays) {
    result = std::min(result, delay.delay_ns - slope * delay.t_ns);
  }
  return result;
}

}  // namespace chokepoint::analysis
