#include "capture/step/period_search.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "capture/step/smooth.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::int64_t kWindow = 512;  // bins
constexpr std::size_t kLeastLag = 24;
constexpr std::size_t kLeastLagOfFinest = 14;
constexpr std::size_t kMostLag = 52;
constexpr std::size_t kSmoothing = 5;
constexpr std::size_t kTrend = 151;  // bins: slower changes are no period
constexpr double kLeastPeriodsInWindow = 4;
constexpr double kLeastStrength = 0.4;
constexpr double kEnoughStrength = 0.8;  // however short the window is
constexpr double kBinDeviations = 3.8;   // that chance does not reach
constexpr double kBinsOfOneValue = 8.7;  // after smoothing
constexpr double kStandsOut = 0.07;
constexpr double kLeastOfDouble = 0.35;  // of the strength
constexpr double kSameCandidate = 0.1;
constexpr double kLeastModulation = 0.07;
// It may vary less where it comes back far more alike than what is inside it: so do the passes of
// tensor parallelism.
constexpr double kLeastModulationOfClear = 0.02;
constexpr double kClear = 0.8;  // of the strength
constexpr double kMoreAlikeThanInside = 0.2;
constexpr double kMostInsideStep = 24;  // bursts

std::vector<float> without_trend(const std::vector<float>& series) {
  const std::vector<float> trend = box_mean(series, kTrend);
  std::vector<float> result(series.size());
  double sum = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    result[i] = series[i] - trend[i];
    sum += result[i];
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(series.size()));
  std::ranges::for_each(result, [mean](float& value) { value -= mean; });
  return result;
}

double modulation_of(const std::vector<float>& series) {
  double sum = 0;
  double squares = 0;
  for (const float value : series) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(series.size());
  return sum > 0 ? std::log(squares * count / (sum * sum)) : 0;
}

double least_strength(std::size_t bins) {
  const double values = static_cast<double>(bins) / kBinsOfOneValue;
  return std::clamp(kBinDeviations / std::sqrt(values), kLeastStrength, kEnoughStrength);
}

float most_between(std::span<const float> alike, double from, double to) {
  const auto begin = static_cast<std::size_t>(std::max(from, 0.0));
  const auto end = std::min(static_cast<std::size_t>(std::max(to, 0.0)) + 1, alike.size());
  return begin < end ? *std::max_element(alike.begin() + static_cast<std::ptrdiff_t>(begin),
                                         alike.begin() + static_cast<std::ptrdiff_t>(end))
                     : -1.F;
}

bool stands_out(std::span<const float> alike, std::size_t lag) {
  const auto at = static_cast<double>(lag);
  const float others =
      std::max(most_between(alike, 0.5 * at, 0.8 * at), most_between(alike, 1.2 * at, 1.5 * at));
  const float twice = most_between(alike, 1.85 * at, 2.15 * at);
  return alike[lag] >= others + kStandsOut && twice >= kLeastOfDouble * alike[lag];
}

// Between bins, by the parabola through the peak and its neighbours.
double exact_lag(std::span<const float> alike, std::size_t lag) {
  const double left = alike[lag - 1];
  const double peak = alike[lag];
  const double right = alike[lag + 1];
  const double bend = left - 2 * peak + right;
  return static_cast<double>(lag) + (bend < 0 ? (left - right) / (2 * bend) : 0);
}

void add(const Candidate& candidate, std::vector<Candidate>& found) {
  const auto same = std::ranges::find_if(found, [&](const Candidate& other) {
    return std::abs(other.period_ns / candidate.period_ns - 1) < kSameCandidate;
  });
  if (same == found.end()) {
    found.push_back(candidate);
  } else if (same->strength < candidate.strength) {
    *same = candidate;
  }
}

}  // namespace

PeriodSearch::PeriodSearch() : autocorrelation_(kWindow) {}

std::vector<Candidate> PeriodSearch::candidates(const BinnedTraffic& traffic) {
  std::vector<Candidate> found;
  for (std::size_t level = 0; level < BinnedTraffic::kLevels; ++level) {
    search(traffic, level, found);
  }
  std::ranges::sort(found, {}, &Candidate::period_ns);
  return found;
}

void PeriodSearch::search(const BinnedTraffic& traffic, std::size_t level,
                          std::vector<Candidate>& found) {
  const std::vector<float> bins = traffic.newest(level, kWindow).bins;
  const std::size_t least = level == 0 ? kLeastLagOfFinest : kLeastLag;
  const auto most = std::min(static_cast<double>(kMostLag),
                             static_cast<double>(bins.size()) / kLeastPeriodsInWindow);
  if (most <= static_cast<double>(least)) {
    return;
  }
  const std::vector<float> smooth = smoothed(clipped(bins), kSmoothing);
  const std::vector<float> alike =
      autocorrelation_.of(without_trend(smooth), static_cast<std::size_t>(2.2 * kMostLag));
  const double enough = least_strength(bins.size());
  const double modulation = modulation_of(smooth);
  for (std::size_t lag = least; static_cast<double>(lag) <= most; ++lag) {
    const bool is_peak = alike[lag] > alike[lag - 1] && alike[lag] >= alike[lag + 1];
    if (is_peak && alike[lag] >= enough && stands_out(alike, lag)) {
      add({.period_ns = exact_lag(alike, lag) * static_cast<double>(BinnedTraffic::bin_ns(level)),
           .strength = alike[lag],
           .modulation = modulation},
          found);
    }
  }
}

bool PeriodSearch::shapes(const Candidate& candidate, const Candidate& inside) {
  const bool is_clear =
      candidate.strength >= kClear && candidate.strength >= inside.strength + kMoreAlikeThanInside;
  return candidate.modulation >= (is_clear ? kLeastModulationOfClear : kLeastModulation);
}

std::optional<Candidate> PeriodSearch::step_of(const std::vector<Candidate>& candidates) {
  std::optional<Candidate> step;
  for (const Candidate& candidate : candidates) {
    const bool is_inside = step && candidate.period_ns < kMostInsideStep * step->period_ns;
    if (!step || (is_inside && shapes(candidate, *step))) {
      step = candidate;
    }
  }
  return step;
}

}  // namespace chokepoint::capture::step
