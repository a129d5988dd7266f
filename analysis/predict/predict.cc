#include "analysis/predict/predict.h"

#include <algorithm>
#include <cmath>

#include "analysis/predict/collectives.h"
#include "analysis/predict/correction.h"
#include "analysis/predict/gloo_ring.h"
#include "analysis/predict/step_model.h"

namespace chokepoint::analysis {
namespace {

// Of figures alone: how far computing and the libraries' own work were off in the golden cases.
constexpr double kComputeMargin = 0.03;
constexpr double kWorstTimes = 1.25;
constexpr double kBestTimes = 0.95;
// A measured all-reduce leaves less open than a link's rate does.
constexpr double kMeasuredBestTimes = 0.9;

// Of a run: the step itself, and what the target changes of it.
constexpr double kRunMargin = 0.03;
constexpr double kChangeMargin = 0.15;

bool is_measured(const JobProfile& profile) { return profile.step_ms > 0; }

void fill(Prediction& prediction, const ModelledStep& step) {
  prediction.compute_ms = step.compute_ms;
  prediction.bubble_ms = step.bubble_ms;
  prediction.communication_ms = step.communication_ms;
  prediction.exposed_ms = step.exposed_ms;
  prediction.step_ms = step.step_ms();
  prediction.rate_mbps = step.wire.rate_mbps;
  prediction.limited_by = step.wire.limited_by;
  prediction.transport = step.wire.transport;
}

// Gloo's credits hold the rate down where the round trip is longer than a segment.
void limit_by_credit(Prediction& prediction, const JobProfile& profile, const Target& target) {
  const double ranks = static_cast<double>(target.ranks.value_or(profile.ranks));
  if (profile.backend != "gloo" || ranks <= 1 || target.curve) return;
  double largest = 0;
  for (const PlannedExchange& exchange : exchanges_of(profile, ranks)) {
    if (exchange.collective == Collective::AllReduce) largest = std::max(largest, exchange.bytes);
  }
  const double rtt_ms = modelled(profile, target, {}).wire.rtt_ms;
  if (largest <= 0 || rtt_ms <= 0) return;
  const double credit_mbps = profile.at_once * gloo_credit_mbps(largest, ranks, rtt_ms);
  if (credit_mbps < prediction.rate_mbps) {
    prediction.rate_mbps = credit_mbps;
    prediction.limited_by = "credit";
  }
}

Prediction from_figures(const JobProfile& profile, const Target& target) {
  Prediction prediction;
  fill(prediction, modelled(profile, target, {.overlap = profile.overlap}));
  const ModelledStep best =
      modelled(profile, target,
               {.outlook = Outlook::Best,
                .overlap = 1,
                .communication_times = target.curve ? kMeasuredBestTimes : kBestTimes});
  const ModelledStep worst =
      modelled(profile, target,
               {.outlook = Outlook::Worst, .overlap = 0, .communication_times = kWorstTimes});
  const double margin_ms = kComputeMargin * profile.compute_ms;
  prediction.low_ms = std::min(best.step_ms() - margin_ms, prediction.step_ms);
  prediction.high_ms = std::max(worst.step_ms() + margin_ms, prediction.step_ms);
  return prediction;
}

Prediction from_run(const JobProfile& profile, const Target& target) {
  const Correction correction = correction_of(profile, target);
  const ModelledStep step = modelled(
      profile, target, {.overlap = profile.overlap, .communication_times = correction.times});
  Prediction prediction;
  fill(prediction, step);
  prediction.exposed_ms = std::max(0.0, step.exposed_ms + correction.exposed_ms);
  prediction.other_ms =
      profile.step_ms - profile.compute_ms - profile.exposed_ms - correction.bubble_ms;
  prediction.step_ms =
      prediction.compute_ms + prediction.bubble_ms + prediction.exposed_ms + prediction.other_ms;
  const double margin_ms = kRunMargin * prediction.step_ms +
                           kChangeMargin * std::abs(prediction.step_ms - profile.step_ms);
  prediction.low_ms = std::max(0.0, prediction.step_ms - margin_ms);
  prediction.high_ms = prediction.step_ms + margin_ms;
  return prediction;
}

// The same work by more ranks takes fewer steps.
void add_totals(Prediction& prediction, const JobProfile& profile, const Target& target) {
  const double now = static_cast<double>(std::max<std::int64_t>(profile.ranks, 1));
  const double then = static_cast<double>(target.ranks.value_or(profile.ranks));
  const double fewer = then > 0 ? now / then : 1;
  if (profile.steps) {
    prediction.total_s = prediction.step_ms * static_cast<double>(*profile.steps) * fewer / 1000;
  }
  if (profile.single_total_s && prediction.total_s) {
    prediction.speedup = *profile.single_total_s / *prediction.total_s;
  } else if (is_measured(profile)) {
    prediction.speedup = profile.step_ms / (prediction.step_ms * fewer);
  }
}

}  // namespace

Prediction predict(const JobProfile& profile, const Target& target) {
  Prediction prediction =
      is_measured(profile) ? from_run(profile, target) : from_figures(profile, target);
  limit_by_credit(prediction, profile, target);
  add_totals(prediction, profile, target);
  return prediction;
}

std::optional<double> rate_that_explains(const JobProfile& profile, const Target& target,
                                         double step_ms) {
  const auto step_at = [&](double log_mbps) {
    Target at = target;
    at.path.rate_mbps = std::exp(log_mbps);
    return modelled(profile, at, {.overlap = profile.overlap}).step_ms();
  };
  double low = std::log(0.001);
  double high = std::log(1e8);
  if (step_at(low) < step_ms || step_at(high) > step_ms) {
    return std::nullopt;
  }
  for (int round = 0; round < 100; ++round) {
    const double middle = (low + high) / 2;
    (step_at(middle) > step_ms ? low : high) = middle;
  }
  return std::exp(low);
}

double sent_bytes(const JobProfile& profile, std::int64_t ranks) {
  const double count = static_cast<double>(ranks);
  double bytes = 0;
  for (const PlannedExchange& exchange : exchanges_of(profile, count)) {
    const double taking_part = exchange.ranks > 0 ? exchange.ranks : count;
    bytes += bus_factor(exchange.collective, taking_part) * exchange.bytes * exchange.times *
             (exchange.collective == Collective::AllReduce ? profile.at_once : 1);
  }
  if (profile.pipeline && ranks > 1) {
    bytes += profile.pipeline->micro_batches * profile.pipeline->micro_batch_bytes;
  }
  return bytes;
}

}  // namespace chokepoint::analysis
