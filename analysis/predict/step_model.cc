#include "analysis/predict/step_model.h"

#include <algorithm>
#include <cmath>

#include "analysis/predict/collectives.h"
#include "analysis/predict/figures.h"
#include "analysis/predict/pipeline.h"
#include "analysis/predict/schedule.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMostCollectives = 10'000;
constexpr double kFlagBytes = 16;

Medium medium_of(const JobProfile& profile, const Target& target, Outlook outlook) {
  PathProfile path = target.path;
  path.rate_mbps = path.rate_mbps ? path.rate_mbps : profile.path.rate_mbps;
  path.rtt_ms = path.rtt_ms ? path.rtt_ms : profile.path.rtt_ms;
  path.loss = path.loss ? path.loss : profile.path.loss;
  path.window_bytes = path.window_bytes ? path.window_bytes : profile.path.window_bytes;
  const bool is_of_run = profile.step_ms > 0 && profile.exchanges.empty();
  return {.wire = wire_of({.path = path,
                           .backend = profile.backend,
                           .transport = target.transport,
                           .congestion = target.congestion,
                           .is_measured = is_of_run},
                          outlook),
          .ranks = {.count = static_cast<double>(target.ranks.value_or(profile.ranks)),
                    .nodes = static_cast<double>(target.nodes.value_or(profile.nodes))},
          .backend = profile.backend,
          .algorithm = target.algorithm,
          .curve = target.curve ? &*target.curve : nullptr};
}

// Ready one after the other while that part of computing goes on that may hide them. Those under
// way at once are over together.
std::vector<PlannedExchange> collectives_of(const JobProfile& profile) {
  const double in_turn = profile.collectives / profile.at_once;
  const double count = std::clamp(std::round(in_turn), 1.0, kMostCollectives);
  const double start_ms = profile.compute_ms - profile.overlap_ms;
  std::vector<PlannedExchange> exchanges;
  for (double number = 1; number <= count; ++number) {
    exchanges.push_back({.collective = Collective::AllReduce,
                         .bytes = profile.bytes_of_collective,
                         .ready_ms = start_ms + profile.overlap_ms * number / count,
                         .times = in_turn / count});
  }
  if (profile.flags > 0) {
    exchanges.push_back({.collective = Collective::AllReduce,
                         .bytes = kFlagBytes,
                         .ready_ms = profile.compute_ms,
                         .times = profile.flags});
  }
  return exchanges;
}

// A rank of a pipeline sends in one half of a step and receives in the other.
double bytes_in_turn(const JobProfile& profile) {
  const double bytes = profile.parallelism == Parallelism::Pipeline
                           ? profile.sent_bytes + profile.received_bytes
                           : std::max(profile.sent_bytes, profile.received_bytes);
  return bytes * kSegmentBytes / kFrameBytes;
}

// Rounds and bytes alone: messages that follow one another.
std::vector<PlannedExchange> messages_of(const JobProfile& profile, double ranks) {
  const double bytes = bytes_in_turn(profile);
  const double rounds = std::max(profile.rounds, 1.0);
  const double now = static_cast<double>(profile.ranks);
  const bool grows = profile.parallelism != Parallelism::Pipeline && now > 1;
  const double more_bytes =
      grows ? bus_factor(Collective::AllReduce, ranks) / bus_factor(Collective::AllReduce, now) : 1;
  const double more_rounds = grows ? (ranks - 1) / (now - 1) : 1;
  return {{.collective = Collective::SendReceive,
           .bytes = bytes * more_bytes / (rounds * more_rounds),
           .ready_ms = profile.compute_ms - profile.overlap_ms,
           .times = rounds * more_rounds}};
}

void add_pipeline(ModelledStep& step, const JobProfile& profile, const Medium& medium,
                  const Assumed& assumed) {
  const double bytes = profile.pipeline->micro_batch_bytes;
  const double forward_share = profile.pipeline->is_forward_only ? 1 : kForwardShare;
  const double wire_ms = bytes / bytes_per_ms(medium.wire, bytes * profile.pipeline->micro_batches);
  const Pipeline pipeline{.stages = medium.ranks.count,
                          .micro_batches = profile.pipeline->micro_batches,
                          .forward_ms = profile.compute_ms * forward_share,
                          .backward_ms = profile.compute_ms * (1 - forward_share),
                          .wire_ms = wire_ms * assumed.communication_times,
                          .latency_ms = medium.wire.alpha_ms * assumed.communication_times};
  const double blocking_ms = blocking_pipeline_ms(pipeline);
  const double overlapped_ms = std::min(blocking_ms, overlapped_pipeline_ms(pipeline));
  step.bubble_ms = bubble_ms(pipeline);
  step.communication_ms += blocking_ms - step.bubble_ms - profile.compute_ms;
  step.exposed_ms += blocking_ms + assumed.overlap * (overlapped_ms - blocking_ms) -
                     step.bubble_ms - profile.compute_ms;
}

}  // namespace

std::vector<PlannedExchange> exchanges_of(const JobProfile& profile, double ranks) {
  if (!profile.exchanges.empty() || profile.pipeline) return profile.exchanges;
  const bool has_collectives = profile.collectives > 0 && profile.bytes_of_collective > 0;
  return has_collectives ? collectives_of(profile) : messages_of(profile, ranks);
}

ModelledStep modelled(const JobProfile& profile, const Target& target, const Assumed& assumed) {
  const Medium medium = medium_of(profile, target, assumed.outlook);
  Medium shared = medium;
  shared.wire.rate_mbps /= profile.at_once;
  shared.wire.line_mbps /= profile.at_once;
  ModelledStep step{.compute_ms = profile.compute_ms, .wire = medium.wire};
  const Outcome outcome =
      schedule(exchanges_of(profile, medium.ranks.count), profile.compute_ms, assumed.overlap,
               [&](const PlannedExchange& exchange) {
                 return exchange_ms(exchange, shared) * assumed.communication_times;
               });
  step.communication_ms = outcome.communication_ms;
  step.exposed_ms = outcome.exposed_ms;
  if (profile.pipeline && medium.ranks.count > 1) {
    add_pipeline(step, profile, medium, assumed);
  }
  return step;
}

}  // namespace chokepoint::analysis
