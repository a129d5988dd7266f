#include "analysis/predict/correction.h"

#include "analysis/predict/step_model.h"

namespace chokepoint::analysis {
namespace {

// The model may be off by so much in proportion; what is more is taken for a fixed cost.
constexpr double kLeastTimes = 0.85;
constexpr double kMostTimes = 1.2;
constexpr double kUsualOff = 0.05;  // of the model, in proportion
constexpr double kNoise = 0.01;     // of a mean step
constexpr double kStep = 0.01;

Target as_measured(const Target& target) {
  return {.congestion = target.congestion,
          .transport = target.transport,
          .algorithm = target.algorithm};
}

// The factor that makes the modelled exposure this long, as far as it may be off.
template <class ExposedAt>
double fitted_times(const ExposedAt& exposed_at, double exposed_ms) {
  double low = kLeastTimes;
  double high = kMostTimes;
  for (int round = 0; round < 50; ++round) {
    const double middle = (low + high) / 2;
    (exposed_at(middle) < exposed_ms ? low : high) = middle;
  }
  return low;
}

}  // namespace

Correction correction_of(const JobProfile& profile, const Target& target) {
  const Target now = as_measured(target);
  const auto exposed_at = [&](double times) {
    return modelled(profile, now, {.overlap = profile.overlap, .communication_times = times})
        .exposed_ms;
  };
  const double modelled_ms = exposed_at(1);
  const double bubble_ms = modelled(profile, now, {.overlap = profile.overlap}).bubble_ms;
  if (modelled_ms <= 0) return {.exposed_ms = profile.exposed_ms, .bubble_ms = bubble_ms};
  // What little is exposed beside a long step tells more of the step's noise than of the model.
  const double expected = kUsualOff * (exposed_at(1 + kStep) - modelled_ms) / kStep;
  const double noise = kNoise * profile.step_ms;
  const double weight = expected * expected / (expected * expected + noise * noise);
  const double times = 1 + weight * (fitted_times(exposed_at, profile.exposed_ms) - 1);
  return {
      .times = times, .exposed_ms = profile.exposed_ms - exposed_at(times), .bubble_ms = bubble_ms};
}

}  // namespace chokepoint::analysis
