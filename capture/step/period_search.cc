#include "capture/step/period_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <span>
#include <vector>

#include <unsupported/Eigen/FFT>

namespace chokepoint::capture::step {
namespace {

// Values set by the jobs of docs/internals/run-steps.md.
constexpr std::int64_t kWindowBins = 512;  // bins
constexpr std::size_t kMinLagBins = 24;    // bins, as the other lags
constexpr std::size_t kMinLagOfFinestLevel = 14;
constexpr std::size_t kMaxSearchedLagBins = 52;
constexpr std::size_t kSmoothingBins = 5;
constexpr std::size_t kTrendBins = 151;  // bins: slower changes are no period
constexpr double kMinPeriodsInWindow = 4;
constexpr double kMinStrength = 0.4;
constexpr double kMaxRequiredStrength = 0.8;  // however short the window is
constexpr double kBinDeviations = 3.8;        // standard deviations that noise does not reach
constexpr double kBinsPerValue = 8.7;         // smoothing makes so many bins one independent value
constexpr double kMinProminence = 0.07;       // above the other lags nearby
constexpr double kMinDoubleLagShare = 0.35;   // of the strength
constexpr double kMaxSameCandidateDifference = 0.1;  // relative difference of periods
constexpr double kMinModulation = 0.07;
// A smaller modulation is enough where a period is far stronger than the one inside it, as with the
// passes of tensor parallelism.
constexpr double kMinModulationOfClear = 0.02;
constexpr double kMinClearStrength = 0.8;
constexpr double kMinLeadOverInside = 0.2;
constexpr double kMaxBurstsPerStep = 24;

std::vector<float> without_trend(const std::vector<float>& series) {
  const std::vector<float> trend = box_mean(series, kTrendBins);
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

double required_strength(std::size_t bins) {
  const double values = static_cast<double>(bins) / kBinsPerValue;
  return std::clamp(kBinDeviations / std::sqrt(values), kMinStrength, kMaxRequiredStrength);
}

float highest_between(std::span<const float> similarity, double from, double to) {
  const auto begin = static_cast<std::size_t>(std::max(from, 0.0));
  const auto end = std::min(static_cast<std::size_t>(std::max(to, 0.0)) + 1, similarity.size());
  return begin < end ? *std::max_element(similarity.begin() + static_cast<std::ptrdiff_t>(begin),
                                         similarity.begin() + static_cast<std::ptrdiff_t>(end))
                     : -1.F;
}

bool stands_out(std::span<const float> similarity, std::size_t lag) {
  const auto at = static_cast<double>(lag);
  const float nearby = std::max(highest_between(similarity, 0.5 * at, 0.8 * at),
                                highest_between(similarity, 1.2 * at, 1.5 * at));
  const float twice = highest_between(similarity, 1.85 * at, 2.15 * at);
  return similarity[lag] >= nearby + kMinProminence &&
         twice >= kMinDoubleLagShare * similarity[lag];
}

// The peak's place between bins, by the parabola through it and its neighbours.
double exact_lag(std::span<const float> similarity, std::size_t lag) {
  const double left = similarity[lag - 1];
  const double peak = similarity[lag];
  const double right = similarity[lag + 1];
  const double bend = left - 2 * peak + right;
  return static_cast<double>(lag) + (bend < 0 ? (left - right) / (2 * bend) : 0);
}

void add(const Candidate& candidate, std::vector<Candidate>& found) {
  const auto same = std::ranges::find_if(found, [&](const Candidate& other) {
    return std::abs(other.period_ns / candidate.period_ns - 1) < kMaxSameCandidateDifference;
  });
  if (same == found.end()) {
    found.push_back(candidate);
  } else if (same->strength < candidate.strength) {
    *same = candidate;
  }
}

bool modulates_traffic(const Candidate& candidate, const Candidate& inside) {
  const bool is_clear = candidate.strength >= kMinClearStrength &&
                        candidate.strength >= inside.strength + kMinLeadOverInside;
  return candidate.modulation >= (is_clear ? kMinModulationOfClear : kMinModulation);
}

}  // namespace

// How similar a series is to itself some bins later: 1 is equal, 0 is chance. The transforms are
// twice as long as the series, so that its end does not meet its beginning.
class Autocorrelation {
 public:
  explicit Autocorrelation(std::size_t max_bins)
      : length_(std::bit_ceil(2 * max_bins)), time_(length_), frequency_(length_ / 2 + 1) {
    fft_.SetFlag(Fft::HalfSpectrum);  // of a real series the other half is its mirror
    fft_.SetFlag(Fft::Unscaled);      // forth and back multiplies by the length
  }

  // For each lag up to `max_lag`, over the bins that overlap. The mean of the series should be 0.
  std::vector<float> of(std::span<const float> series, std::size_t max_lag) {
    std::ranges::fill(time_, 0.F);
    std::ranges::copy(series, time_.begin());
    const auto count = static_cast<Fft::Index>(length_);
    fft_.fwd(frequency_.data(), time_.data(), count);
    for (std::complex<float>& part : frequency_) {
      part = std::norm(part);
    }
    fft_.inv(time_.data(), frequency_.data(), count);
    double left = 0;  // energy of the overlapping bins, on each side
    for (const float value : series) {
      left += static_cast<double>(value) * value;
    }
    double right = left;
    std::vector<float> result(std::min(max_lag + 1, series.size()));
    for (std::size_t lag = 0; lag < result.size(); ++lag) {
      const double sum = static_cast<double>(time_[lag]) / static_cast<double>(length_);
      const double energy = std::sqrt(std::max(left, 0.0) * std::max(right, 0.0));
      result[lag] = energy > 0 ? static_cast<float>(sum / energy) : 0;
      const float first = series[lag];
      const float last = series[series.size() - 1 - lag];
      left -= static_cast<double>(last) * last;
      right -= static_cast<double>(first) * first;
    }
    return result;
  }

 private:
  using Fft = Eigen::FFT<float>;

  std::size_t length_;
  Fft fft_;  // keeps its tables and its scratch space from the first call on
  std::vector<float> time_;
  std::vector<std::complex<float>> frequency_;
};

namespace {

std::vector<float> smoothed(std::span<const float> series, std::size_t width) {
  return box_mean(box_mean(box_mean(series, width), width), width);
}

}  // namespace

PeriodSearch::PeriodSearch() : autocorrelation_(std::make_unique<Autocorrelation>(kWindowBins)) {}
PeriodSearch::~PeriodSearch() = default;

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
  const std::vector<float> bins = traffic.newest(level, kWindowBins).bins;
  const std::size_t least = level == 0 ? kMinLagOfFinestLevel : kMinLagBins;
  const auto most = std::min(static_cast<double>(kMaxSearchedLagBins),
                             static_cast<double>(bins.size()) / kMinPeriodsInWindow);
  if (most <= static_cast<double>(least)) {
    return;
  }
  const std::vector<float> smooth = smoothed(clipped(bins), kSmoothingBins);
  const std::vector<float> similarity = autocorrelation_->of(
      without_trend(smooth), static_cast<std::size_t>(2.2 * kMaxSearchedLagBins));
  const double enough = required_strength(bins.size());
  const double modulation = modulation_of(smooth);
  for (std::size_t lag = least; static_cast<double>(lag) <= most; ++lag) {
    const bool is_peak =
        similarity[lag] > similarity[lag - 1] && similarity[lag] >= similarity[lag + 1];
    if (is_peak && similarity[lag] >= enough && stands_out(similarity, lag)) {
      add({.period_ns =
               exact_lag(similarity, lag) * static_cast<double>(BinnedTraffic::bin_ns(level)),
           .strength = similarity[lag],
           .modulation = modulation},
          found);
    }
  }
}

std::optional<Candidate> PeriodSearch::step_of(const std::vector<Candidate>& candidates) {
  std::optional<Candidate> step;
  for (const Candidate& candidate : candidates) {
    const bool is_inside = step && candidate.period_ns < kMaxBurstsPerStep * step->period_ns;
    if (!step || (is_inside && modulates_traffic(candidate, *step))) {
      step = candidate;
    }
  }
  return step;
}

}  // namespace chokepoint::capture::step
