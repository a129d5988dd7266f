#include "capture/step/autocorrelation.h"

#include <kiss_fftr.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace chokepoint::capture::step {
namespace {

struct Free {
  void operator()(kiss_fftr_state* plan) const { kiss_fftr_free(plan); }
};
using Plan = std::unique_ptr<kiss_fftr_state, Free>;

Plan plan_of(std::size_t bins, bool is_back) {
  return Plan(kiss_fftr_alloc(static_cast<int>(bins), is_back ? 1 : 0, nullptr, nullptr));
}

}  // namespace

// Twice as long as the series, so that its end does not meet its beginning.
struct Autocorrelation::Plans {
  explicit Plans(std::size_t most_bins)
      : length(std::bit_ceil(2 * most_bins)),
        forth(plan_of(length, false)),
        back(plan_of(length, true)),
        time(length),
        frequency(length / 2 + 1) {}

  std::size_t length;
  Plan forth;
  Plan back;
  std::vector<float> time;
  std::vector<kiss_fft_cpx> frequency;
};

Autocorrelation::Autocorrelation(std::size_t most_bins)
    : plans_(std::make_unique<Plans>(most_bins)) {}
Autocorrelation::~Autocorrelation() = default;

std::vector<float> Autocorrelation::of(std::span<const float> series, std::size_t most_lag) {
  Plans& plans = *plans_;
  std::ranges::fill(plans.time, 0.F);
  std::ranges::copy(series, plans.time.begin());
  kiss_fftr(plans.forth.get(), plans.time.data(), plans.frequency.data());
  for (kiss_fft_cpx& part : plans.frequency) {
    part = {part.r * part.r + part.i * part.i, 0};
  }
  kiss_fftri(plans.back.get(), plans.frequency.data(), plans.time.data());
  double left = 0;  // the energy of what overlaps, on each side
  for (const float value : series) {
    left += static_cast<double>(value) * value;
  }
  double right = left;
  std::vector<float> result(std::min(most_lag + 1, series.size()));
  for (std::size_t lag = 0; lag < result.size(); ++lag) {
    const double sum = static_cast<double>(plans.time[lag]) / static_cast<double>(plans.length);
    const double energy = std::sqrt(std::max(left, 0.0) * std::max(right, 0.0));
    result[lag] = energy > 0 ? static_cast<float>(sum / energy) : 0;
    const float first = series[lag];
    const float last = series[series.size() - 1 - lag];
    left -= static_cast<double>(last) * last;
    right -= static_cast<double>(first) * first;
  }
  return result;
}

}  // namespace chokepoint::capture::step
