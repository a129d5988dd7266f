#include "analysis/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/predict/exchange_time.h"
#include "analysis/predict/figures.h"
#include "analysis/predict/grid.h"
#include "base/math/statistics.h"
#include "base/math/training_pass.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

// Correction: the model may be off by such factors; what is more is taken for a fixed cost.
constexpr double kMinTimes = 0.85;
constexpr double kMaxTimes = 1.2;
constexpr double kUsualOff = 0.05;  // of the model, in proportion
constexpr double kNoise = 0.01;     // of a mean step
constexpr double kStep = 0.01;

// Margins of figures alone: how far computing and the libraries' own work were off in the golden
// cases.
constexpr double kComputeMargin = 0.03;
constexpr double kWorstTimes = 1.25;
constexpr double kBestTimes = 0.95;
constexpr double kMeasuredBestTimes = 0.9;  // of a measured all-reduce, which is surer than a rate

// Margins of a run: of the step itself, and of what the target changes.
constexpr double kRunMargin = 0.03;
constexpr double kChangeMargin = 0.15;

// What the model assumes of one step on one network.
struct Assumed {
  Outlook outlook = Outlook::Usual;
  double overlap = 0;              // as of JobProfile
  double communication_times = 1;  // what the model gives, times this
};

struct ModelledStep {
  double compute_ms = 0;
  double bubble_ms = 0;
  double communication_ms = 0;
  double exposed_ms = 0;
  Wire wire = {};
  std::vector<GroupTimes> groups = {};

  double step_ms() const { return compute_ms + bubble_ms + exposed_ms; }
};

// `sharing` groups have a NIC's rate together. What a library reaches by itself each of them does.
Medium medium_of(const JobProfile& profile, const Target& target, Outlook outlook,
                 double sharing = 1) {
  PathProfile path = target.path;
  path.payload_mbps = path.payload_mbps ? path.payload_mbps : profile.path.payload_mbps;
  path.rate_mbps = path.rate_mbps ? path.rate_mbps : profile.path.rate_mbps;
  path.rtt_ms = path.rtt_ms ? path.rtt_ms : profile.path.rtt_ms;
  path.loss = path.loss ? path.loss : profile.path.loss;
  path.window_bytes = path.window_bytes ? path.window_bytes : profile.path.window_bytes;
  const bool is_of_run = profile.step_ms > 0 && profile.is_library_measured;
  WireQuestion question{.path = path,
                        .backend = profile.backend,
                        .transport = target.transport,
                        .congestion = target.congestion,
                        .is_measured = is_of_run};
  if (sharing > 1) {
    question.transport =
        transport_of(target.transport, profile.backend, path.rate_mbps.value_or(0));
    for (auto* rate : {&question.path.rate_mbps, &question.path.payload_mbps}) {
      if (*rate) **rate /= sharing;
    }
  }
  const Wire there = wire_of(question, outlook);
  question.path.payload_mbps = target.back_mbps ? target.back_mbps : path.payload_mbps;
  return {.wire = there,
          .inside = target.inside_mbps ? std::optional(inside_wire_of(*target.inside_mbps, outlook))
                                       : std::nullopt,
          .back = wire_of(question, outlook),
          .ranks = ranks_of(profile, target),
          .backend = profile.backend,
          .algorithm = target.algorithm,
          .curve = target.curve ? &*target.curve : nullptr};
}

// What of a grid's groups the medium looks like to, by how many of them share a NIC.
class GroupMedia {
 public:
  GroupMedia(const JobProfile& profile, const Target& target, const Assumed& assumed,
             const Medium& own)
      : profile_(profile), target_(target), assumed_(assumed), own_(own) {}

  const Medium& of(double at_once) {
    const double ways = sharing(at_once, own_.ranks.nics);
    if (ways <= 1) return own_;
    const auto found = media_.find(ways);
    if (found != media_.end()) return found->second;
    return media_.emplace(ways, medium_of(profile_, target_, assumed_.outlook, ways)).first->second;
  }

 private:
  const JobProfile& profile_;
  const Target& target_;
  const Assumed& assumed_;
  const Medium& own_;
  std::map<double, Medium> media_;
};

// `layers_ms`: what all micro-batches wait inside a stage for what its ranks exchange, half of it
// forward, half of it backward.
void add_pipeline(ModelledStep& step, const JobProfile& profile, const Medium& medium,
                  const Assumed& assumed, double layers_ms) {
  const double bytes = profile.pipeline->micro_batch_bytes;
  const auto& stages = profile.pipeline->stages;
  const double forward_share = profile.pipeline->is_forward_only ? 1 : math::kForwardShare;
  const double in_all = bytes * profile.pipeline->micro_batches;
  const double computing_ms = profile.compute_ms + layers_ms;
  const Wire& inside = medium.inside ? *medium.inside : medium.wire;
  const double between_ms = bytes / bytes_per_ms(medium.wire, in_all);
  const double inside_ms = bytes / bytes_per_ms(inside, in_all);
  const Pipeline pipeline{.stages = stages ? stages->count : medium.ranks.count,
                          .micro_batches = profile.pipeline->micro_batches,
                          .forward_ms = profile.compute_ms * forward_share + layers_ms / 2,
                          .backward_ms = profile.compute_ms * (1 - forward_share) + layers_ms / 2,
                          .wire_ms = between_ms * assumed.communication_times,
                          .latency_ms = medium.wire.alpha_ms * assumed.communication_times,
                          .hosts = medium.ranks.hosts(),
                          .inside_wire_ms = inside_ms * assumed.communication_times,
                          .inside_latency_ms = inside.alpha_ms * assumed.communication_times,
                          .is_between = stages ? stages->is_between : std::vector<bool>()};
  const double blocking_ms = blocking_pipeline_ms(pipeline);
  const double overlapped_ms = std::min(blocking_ms, overlapped_pipeline_ms(pipeline));
  step.bubble_ms = bubble_ms(pipeline);
  const double links_ms = blocking_ms - step.bubble_ms - computing_ms;
  const double exposed_ms = links_ms + assumed.overlap * (overlapped_ms - blocking_ms);
  step.communication_ms += links_ms;
  step.exposed_ms += exposed_ms;
  for (GroupTimes& group : step.groups) {
    if (group.of != Parallelism::Pipeline) continue;
    group.communication_ms += links_ms;
    group.exposed_ms += exposed_ms;
  }
}

// What layers exchange is waited for at once; what copies and stages do comes after.
void add_groups(ModelledStep& step, const JobProfile& profile, const Target& target,
                const Assumed& assumed, const Medium& medium) {
  GroupMedia media(profile, target, assumed, medium);
  GroupTimes layers{.of = Parallelism::Tensor};
  GroupTimes copies{.of = Parallelism::Data};
  GroupTimes stages{.of = Parallelism::Pipeline};
  std::vector<PlannedExchange> of_copies;
  const auto time_ms = [&](const PlannedExchange& exchange) {
    return exchange_ms(exchange, media.of(exchange.at->at_once)) * assumed.communication_times;
  };
  for (const PlannedExchange& exchange : profile.exchanges) {
    if (exchange.of == Parallelism::Data) {
      of_copies.push_back(exchange);
    } else {
      GroupTimes& group = exchange.of == Parallelism::Tensor ? layers : stages;
      group.communication_ms += time_ms(exchange) * exchange.times;
    }
  }
  const Outcome outcome = schedule(of_copies, profile.compute_ms, assumed.overlap, time_ms);
  layers.exposed_ms = layers.communication_ms;
  stages.exposed_ms = stages.communication_ms;
  copies.communication_ms = outcome.communication_ms;
  copies.exposed_ms = outcome.exposed_ms;
  const Grid& grid = *profile.grid;
  if (grid.tensor > 1) step.groups.push_back(layers);
  if (grid.data > 1) step.groups.push_back(copies);
  if (grid.pipeline > 1) step.groups.push_back(stages);
  for (const GroupTimes& group : step.groups) {
    step.communication_ms += group.communication_ms;
    step.exposed_ms += group.exposed_ms;
  }
  if (profile.pipeline) {
    add_pipeline(step, profile, media.of(profile.pipeline->stages->at_once), assumed,
                 layers.exposed_ms);
  }
}

void add_calls(ModelledStep& step, const JobProfile& profile, const Medium& medium,
               const Assumed& assumed) {
  const double whole_ms = calls_ms(*profile.calls, profile.compute_ms, medium);
  CallProfile bare = *profile.calls;
  bare.at_once = 1;
  step.communication_ms = calls_ms(bare, 0, medium) * assumed.communication_times;
  step.exposed_ms = std::max(0.0, whole_ms - profile.compute_ms) * assumed.communication_times;
}

void share_out(Wire& wire, double ways) {
  wire.rate_mbps /= ways;
  wire.line_mbps /= ways;
  wire.link_mbps /= ways;
}

// The tier that sets the pace: a host's NICs together, or a rank's link inside its host.
Wire slowest_of(const Medium& medium) {
  Wire between = medium.wire;
  between.rate_mbps *= medium.ranks.nics;
  if (!medium.inside || medium.ranks.each() <= 1) return between;
  const bool is_alone = medium.ranks.hosts() <= 1;
  return is_alone || medium.inside->rate_mbps < between.rate_mbps ? *medium.inside : between;
}

ModelledStep modelled(const JobProfile& profile, const Target& target, const Assumed& assumed) {
  const Medium medium = medium_of(profile, target, assumed.outlook);
  Medium shared = medium;
  share_out(shared.wire, profile.at_once);
  if (shared.inside) share_out(*shared.inside, profile.at_once);
  ModelledStep step{.compute_ms = profile.compute_ms, .wire = slowest_of(medium)};
  if (profile.grid) {
    add_groups(step, profile, target, assumed, medium);
    return step;
  }
  const Outcome outcome =
      schedule(exchanges_of(profile, medium.ranks.count), profile.compute_ms, assumed.overlap,
               [&](const PlannedExchange& exchange) {
                 return exchange_ms(exchange, shared) * assumed.communication_times;
               });
  step.communication_ms = outcome.communication_ms;
  step.exposed_ms = outcome.exposed_ms;
  if (profile.pipeline && medium.ranks.count > 1) {
    add_pipeline(step, profile, medium, assumed, 0);
  }
  if (profile.calls) add_calls(step, profile, medium, assumed);
  return step;
}

// How a measured step differs from the modelled one: what to carry over to a prediction elsewhere.
struct Correction {
  double times = 1;       // communication takes this many times what the model says
  double exposed_ms = 0;  // and this much more, whatever the target
  double bubble_ms = 0;   // of a pipeline, as measured
};

// The factor that makes the modelled exposure this long, within its bounds.
template <class ExposedAt>
double fitted_times(const ExposedAt& exposed_at, double exposed_ms) {
  double low = kMinTimes;
  double high = kMaxTimes;
  for (int round = 0; round < 50; ++round) {
    const double middle = (low + high) / 2;
    (exposed_at(middle) < exposed_ms ? low : high) = middle;
  }
  return low;
}

bool is_by_loss(const ModelledStep& step) { return step.wire.limited_by == "loss"; }

// Nothing of a run whose own link is not known: the model has nothing to be held against.
Correction correction_of(const JobProfile& profile, const Target& target) {
  if (!profile.path.rate_mbps && !profile.path.payload_mbps) {
    return {.bubble_ms = modelled(profile, target, {.overlap = profile.overlap}).bubble_ms};
  }
  const Target now{.inside_mbps = target.inside_mbps,
                   .congestion = target.congestion,
                   .transport = target.transport,
                   .algorithm = target.algorithm};
  const auto exposed_at = [&](double times) {
    return modelled(profile, now, {.overlap = profile.overlap, .communication_times = times})
        .exposed_ms;
  };
  const double modelled_ms = exposed_at(1);
  const double bubble_ms = modelled(profile, now, {.overlap = profile.overlap}).bubble_ms;
  if (modelled_ms <= 0) return {.exposed_ms = profile.exposed_ms, .bubble_ms = bubble_ms};
  // By how much the formula of loss is wrong says nothing of a path without.
  if (is_by_loss(modelled(profile, now, {})) && !is_by_loss(modelled(profile, target, {}))) {
    return {.bubble_ms = bubble_ms};
  }
  // A small exposure beside a long step depends more on the step's noise than on the model.
  const double expected = kUsualOff * (exposed_at(1 + kStep) - modelled_ms) / kStep;
  const double noise = kNoise * profile.step_ms;
  const double weight = expected * expected / (expected * expected + noise * noise);
  const double times = 1 + weight * (fitted_times(exposed_at, profile.exposed_ms) - 1);
  return {
      .times = times, .exposed_ms = profile.exposed_ms - exposed_at(times), .bubble_ms = bubble_ms};
}

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
  prediction.groups = step.groups;
}

void add_energy(Prediction& prediction, const JobProfile& profile, const Target& target) {
  const Ranks ranks = ranks_of(profile, target);
  prediction.energy_j = energy_j(job_of(profile, target), ranks.count, prediction.step_ms);
}

// Gloo's credits limit the rate if the round trip is longer than a segment takes. Of a grid's
// groups those between hosts count.
void limit_by_credit(Prediction& prediction, const JobProfile& profile, const Target& target) {
  const Ranks ranks = ranks_of(profile, target);
  const JobProfile& job = job_of(profile, target);
  if (job.backend != "gloo" || ranks.count <= 1 || target.curve) return;
  const double rtt_ms = modelled(job, target, {}).wire.rtt_ms;
  if (rtt_ms <= 0) return;
  double most_mbps = 0;
  for (const PlannedExchange& exchange : exchanges_of(job, ranks.count)) {
    const bool is_inside = exchange.at && exchange.at->hosts <= 1;
    if (exchange.collective != Collective::AllReduce || is_inside || exchange.bytes <= 0) continue;
    const double at_once = exchange.at ? exchange.at->at_once : job.at_once;
    const double count = exchange.at ? exchange.ranks : ranks.count;
    most_mbps = std::max(most_mbps, at_once * gloo_credit_mbps(exchange.bytes, count, rtt_ms));
  }
  if (most_mbps > 0 && most_mbps < prediction.rate_mbps) {
    prediction.rate_mbps = most_mbps;
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

void set_range(Prediction& prediction, const JobProfile& profile) {
  const double margin_ms = kRunMargin * prediction.step_ms +
                           kChangeMargin * std::abs(prediction.step_ms - profile.step_ms);
  const double computing_ms = prediction.compute_ms + prediction.bubble_ms;
  prediction.low_ms = std::clamp(prediction.step_ms - margin_ms,
                                 std::min(computing_ms, prediction.step_ms), prediction.step_ms);
  prediction.high_ms = prediction.step_ms + margin_ms;
}

double every_of(const JobProfile& job) { return job.outer ? job.outer->every : 1; }

Prediction from_run(const JobProfile& profile, const Target& target) {
  Correction correction = correction_of(profile, target);
  const JobProfile& job = job_of(profile, target);
  correction.exposed_ms *= every_of(profile) / every_of(job);
  const ModelledStep step =
      modelled(job, target, {.overlap = job.overlap, .communication_times = correction.times});
  Prediction prediction;
  fill(prediction, step);
  prediction.exposed_ms = std::max(0.0, step.exposed_ms + correction.exposed_ms);
  // What is carried over of the run may be more than the model has.
  if (prediction.communication_ms > 0) {
    prediction.communication_ms = std::max(prediction.communication_ms, prediction.exposed_ms);
  }
  prediction.other_ms =
      profile.step_ms - profile.compute_ms - profile.exposed_ms - correction.bubble_ms;
  prediction.step_ms =
      prediction.compute_ms + prediction.bubble_ms + prediction.exposed_ms + prediction.other_ms;
  set_range(prediction, profile);
  return prediction;
}

// The same work by more ranks takes fewer steps.
void add_totals(Prediction& prediction, const JobProfile& profile, const Target& target) {
  const double now = static_cast<double>(std::max<std::int64_t>(profile.ranks, 1));
  const double then = static_cast<double>(target.ranks.value_or(profile.ranks));
  const double fewer = then > 0 ? now / then : 1;
  const auto steps = job_of(profile, target).steps;
  if (steps) {
    prediction.total_s = prediction.step_ms * static_cast<double>(*steps) * fewer / 1000;
  }
  if (profile.single_total_s && prediction.total_s) {
    prediction.speedup = *profile.single_total_s / *prediction.total_s;
  } else if (is_measured(profile)) {
    prediction.speedup = profile.step_ms / (prediction.step_ms * fewer);
  }
}

}  // namespace

const JobProfile& job_of(const JobProfile& profile, const Target& target) {
  return target.job ? *target.job : profile;
}

Prediction predict(const JobProfile& profile, const Target& target) {
  Prediction prediction =
      is_measured(profile) ? from_run(profile, target) : from_figures(profile, target);
  limit_by_credit(prediction, profile, target);
  add_totals(prediction, profile, target);
  add_energy(prediction, profile, target);
  return prediction;
}

Prediction replayed(Prediction prediction, const JobProfile& profile, double step_ms,
                    double less_late_ms) {
  const double times = step_ms / prediction.step_ms;
  prediction.models_step_ms = prediction.step_ms;
  prediction.compute_ms = std::max(0.0, prediction.compute_ms - less_late_ms);
  prediction.exposed_ms =
      std::max(0.0, prediction.exposed_ms + step_ms + less_late_ms - prediction.step_ms);
  prediction.communication_ms = std::max(prediction.communication_ms, prediction.exposed_ms);
  prediction.step_ms = step_ms;
  const double known_ms = prediction.bubble_ms + prediction.exposed_ms;
  prediction.compute_ms = std::clamp(step_ms - known_ms, 0.0, prediction.compute_ms);
  prediction.other_ms = std::max(0.0, step_ms - known_ms - prediction.compute_ms);
  if (prediction.total_s) *prediction.total_s *= times;
  if (prediction.energy_j) *prediction.energy_j *= times;
  if (prediction.speedup) *prediction.speedup /= times;
  set_range(prediction, profile);
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
  return load_of(profile, Algorithm::Ring, {.count = static_cast<double>(ranks)}).rank;
}

Ranks ranks_of(const JobProfile& profile, const Target& target) {
  return {.count = static_cast<double>(target.ranks.value_or(profile.ranks)),
          .nodes = static_cast<double>(target.nodes.value_or(profile.nodes)),
          .nics = target.nics};
}

std::optional<double> energy_j(const JobProfile& job, double ranks, double step_ms) {
  if (!job.power_w) return std::nullopt;
  return *job.power_w * ranks * step_ms / 1000;
}

Outcome schedule(const std::vector<PlannedExchange>& exchanges, double compute_ms, double overlap,
                 const std::function<double(const PlannedExchange&)>& time_ms) {
  Outcome outcome;
  double finish_ms = 0;
  for (const PlannedExchange& exchange : exchanges) {
    const double left_ms = compute_ms - std::min(exchange.ready_ms, compute_ms);
    const double each_ms = time_ms(exchange);
    const double waited_ms = std::max(0.0, each_ms - exchange.beside_ms) * exchange.times;
    finish_ms = std::max(finish_ms, compute_ms - overlap * left_ms) + waited_ms;
    outcome.communication_ms += each_ms * exchange.times;
  }
  outcome.exposed_ms = std::max(0.0, finish_ms - compute_ms);
  return outcome;
}

std::optional<double> Beside::error_percent() const {
  if (measured <= 0) return std::nullopt;
  return (predicted / measured - 1) * math::kPercent;
}

JobProfile without_outcome(const JobProfile& profile) {
  JobProfile bare = profile;
  bare.step_ms = 0;
  bare.exposed_ms = 0;
  return bare;
}

Target on_network_of(const JobProfile& run, Target target) {
  PathProfile& path = target.path;
  if (!path.rate_mbps && !path.payload_mbps && !target.curve) {
    path.rate_mbps = run.path.rate_mbps;
    path.payload_mbps = run.path.payload_mbps;
  }
  path.rtt_ms = path.rtt_ms ? path.rtt_ms : run.path.rtt_ms;
  path.loss = path.loss ? path.loss : run.path.loss;
  path.window_bytes = path.window_bytes ? path.window_bytes : run.path.window_bytes;
  target.ranks = run.ranks;
  target.nodes = run.nodes;
  return target;
}

CheckFigures figures_of(const std::vector<CheckedStep>& steps) {
  std::vector<double> errors;
  double within = 0;
  for (const CheckedStep& step : steps) {
    if (const auto error = step.step_ms.error_percent()) errors.push_back(std::abs(*error));
    const double measured_ms = step.step_ms.measured;
    within += step.low_ms <= measured_ms && measured_ms <= step.high_ms ? 1 : 0;
  }
  CheckFigures figures{.count = steps.size(),
                       .median_error_percent = math::median(errors),
                       .p90_error_percent = math::quantile(errors, 0.9)};
  if (!steps.empty()) {
    figures.within_percent = within / static_cast<double>(steps.size()) * math::kPercent;
  }
  return figures;
}

}  // namespace chokepoint::analysis
