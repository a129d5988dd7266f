// A prediction as the chokepoint.prediction/1 document.
#include "analysis/commands/predict_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/predict/grid.h"
#include "analysis/predict/outer_steps.h"
#include "base/math/tcp_rate.h"

namespace chokepoint::analysis {
namespace {

const char* name_of_parallelism(Parallelism parallelism) {
  constexpr std::array kNames{"dp", "zero", "tp", "pp", "rpc", "unknown"};
  static_assert(kNames.size() == static_cast<std::size_t>(Parallelism::Unknown) + 1);
  return kNames.at(static_cast<std::size_t>(parallelism));
}

PredictionInputs inputs_of(const PredictFlags& given, const Predicted& predicted) {
  const JobProfile& job = predicted.job();
  const Target& target = predicted.target;
  PredictionInputs inputs{
      .from = given.from,
      .parameters = given.parameters,
      .type = given.from.empty() && given.type.empty() ? "float32" : given.type,
      .parallelism = job.grid ? name_of(*job.grid) : name_of_parallelism(job.parallelism),
      .backend = job.backend,
      .ranks = target.ranks.value_or(job.ranks),
      .nodes = static_cast<std::int64_t>(predicted.ranks().hosts()),
      .nics = static_cast<std::int64_t>(target.nics),
      .steps = job.steps,
      .epochs = predicted.epochs,
      .single_time_s = job.single_total_s,
      .compute_ms = job.compute_ms,
      .overlap = job.overlap,
      .power_w = job.power_w,
      .link_mbps = target.path.rate_mbps,
      .intra_link_mbps = target.inside_mbps,
      .throughput_mbps = target.path.payload_mbps,
      .throughput_back_mbps = target.back_mbps,
      .rtt_ms = target.path.rtt_ms,
      .loss = target.path.loss,
      .buffer_bytes = target.path.window_bytes,
      .congestion = given.congestion,
      .algorithm = given.algorithm,
      .curve = given.curve};
  if (job.step_ms > 0) inputs.measured_step_ms = job.step_ms;
  if (job.calls) {
    inputs.request_bytes = job.calls->request_bytes;
    inputs.answer_bytes = job.calls->answer_bytes;
    inputs.calls = job.calls->calls;
    inputs.at_once = job.calls->at_once;
    inputs.call_ms = job.calls->empty_ms;
  }
  if (!given.late.empty()) inputs.late = predicted.change.late_times;
  if (!given.rank_order.empty()) inputs.rank_order = predicted.change.rank_order;
  if (predicted.job().outer) inputs.outer_overlap_steps = predicted.job().outer->beside_steps;
  return inputs;
}

PredictedStep step_of(const Prediction& found) {
  PredictedStep step{.step_ms = found.step_ms,
                     .low_ms = found.low_ms,
                     .high_ms = found.high_ms,
                     .breakdown_ms = {.compute = found.compute_ms,
                                      .communication = found.communication_ms,
                                      .exposed = found.exposed_ms,
                                      .bubble = found.bubble_ms,
                                      .other = found.other_ms},
                     .method = found.models_step_ms ? PredictedBy::Replay : PredictedBy::Models,
                     .models_step_ms = found.models_step_ms.value_or(found.step_ms),
                     .total_s = found.total_s,
                     .speedup = found.speedup,
                     .energy_j_per_step = found.energy_j};
  if (found.rate_mbps > 0) {  // 0 where --curve replaces it
    step.network = {.rate_mbps = found.rate_mbps,
                    .limited_by = named<NetworkLimit>(found.limited_by)};
    if (found.transport != Transport::Unknown) step.network.transport = found.transport;
  }
  return step;
}

// What an Ethernet carries for each byte of TCP's payload; of RDMA nothing is counted beside it.
double frames_of_payload(const Predicted& predicted) {
  const double rate_mbps =
      predicted.target.path.rate_mbps.value_or(predicted.profile.path.rate_mbps.value_or(0));
  const bool is_tcp = transport_of(predicted.target.transport, predicted.job().backend,
                                   rate_mbps) == Transport::Tcp;
  return is_tcp ? math::kFrameBytes / math::kSegmentBytes : 1;
}

// Which links a step's payload passes, those without any left out.
PredictedVolumes volumes_of(const Predicted& predicted) {
  const auto volume = [&](double bytes) {
    PredictedVolume sent{.step_bytes = bytes, .run_bytes = in_run(predicted, bytes)};
    if (sent.run_bytes && predicted.epochs) sent.epoch_bytes = *sent.run_bytes / *predicted.epochs;
    return sent;
  };
  const Load& sent = predicted.sent;
  PredictedVolumes volumes{.rank = volume(sent.rank)};
  if (predicted.ranks().each() > 1) volumes.inside_host = volume(sent.inside);
  if (sent.host > 0) {
    volumes.host = volume(sent.host);
    if (predicted.target.nics > 1) volumes.nic = volume(sent.host / predicted.target.nics);
    volumes.network_frames = volume(sent.network * frames_of_payload(predicted));
  }
  return volumes;
}

PredictedGroup place_of(const JobProfile& job, Parallelism of) {
  if (of == Parallelism::Pipeline) {
    const PipelineProfile::Stages& stages = *job.pipeline->stages;
    return {.kind = "pp",
            .ranks = static_cast<std::int64_t>(stages.count),
            .hosts = 1 + std::ranges::count(stages.is_between, true),
            .at_once = static_cast<std::int64_t>(stages.at_once)};
  }
  const auto own = std::ranges::find(job.exchanges, of, &PlannedExchange::of);
  const int stage = job.grid->zero_stage;
  return {.kind = of == Parallelism::Tensor ? "tp"
                  : stage > 0               ? fmt::format("zero{}", stage)
                                            : "dp",
          .ranks = static_cast<std::int64_t>(own->ranks),
          .hosts = static_cast<std::int64_t>(own->at->hosts),
          .at_once = static_cast<std::int64_t>(own->at->at_once)};
}

std::vector<PredictedGroup> groups_of(const Predicted& predicted) {
  std::vector<PredictedGroup> groups;
  for (const GroupTimes& times : predicted.prediction.groups) {
    PredictedGroup group = place_of(predicted.job(), times.of);
    const Load sent =
        load_of(predicted.job(), predicted.target.algorithm, predicted.ranks(), times.of);
    group.crosses_network = group.hosts > 1;
    group.rank_bytes = sent.rank;
    group.inside_host_bytes = sent.inside;
    group.host_bytes = sent.host;
    group.network_bytes = sent.network;
    group.communication_ms = times.communication_ms;
    group.exposed_ms = times.exposed_ms;
    groups.push_back(std::move(group));
  }
  return groups;
}

// Whether it fits is unknown where the activations are not known and the rest alone would.
PredictedMemory memory_of(const Memory& memory, std::optional<double> limit_bytes) {
  PredictedMemory shown{.weights_bytes = memory.weights,
                        .gradients_bytes = memory.gradients,
                        .optimizer_bytes = memory.optimizer,
                        .activations_bytes = memory.activations,
                        .logits_bytes = memory.logits,
                        .total_bytes = memory.total()};
  const bool is_over = limit_bytes && memory.total() > *limit_bytes;
  if (limit_bytes && (memory.activations || is_over)) shown.fits = !is_over;
  return shown;
}

std::optional<PredictedMemories> memory_of(const Predicted& predicted) {
  if (!predicted.memory) return std::nullopt;
  const auto& limit = predicted.memory_limit_bytes;
  PredictedMemories memories{.memory = memory_of(*predicted.memory, limit), .limit_bytes = limit};
  for (const MemoryWay& way : predicted.memory_ways) {
    memories.ways.push_back({.memory = memory_of(way.memory, limit), .parallelism = way.name});
  }
  return memories;
}

PredictedUpgrade upgrade_of(const Alternative& alternative, PredictedLink link) {
  PredictedUpgrade upgrade{.link = std::move(link), .cost = alternative.upgrade->cost};
  if (alternative.gain) {
    upgrade.saved_s = alternative.gain->saved_s;
    upgrade.cost_per_saved_hour = alternative.gain->cost_of_hour;
    upgrade.paid_back_after_runs = alternative.gain->paid_back_after;
  }
  return upgrade;
}

std::optional<PredictedOuterSteps> outer_of(const Predicted& predicted) {
  const auto& outer = predicted.job().outer;
  if (!outer) return std::nullopt;
  const OuterTimes times = times_of(*outer, predicted.prediction);
  return PredictedOuterSteps{.every_steps = times.every,
                             .sync_ms = times.sync_ms,
                             .exposed_ms = times.exposed_ms,
                             .round_ms = times.round_ms,
                             .utilisation_percent = times.utilisation * math::kPercent,
                             .least_every_steps = predicted.least_every};
}

std::optional<PredictedRing> ring_of(const Predicted& predicted) {
  if (!predicted.ring) return std::nullopt;
  const RingChoice& choice = *predicted.ring;
  PredictedRing ring{.slowest_mbps = choice.best.slowest_mbps,
                     .worst_slowest_mbps = choice.worst.slowest_mbps,
                     .is_exact = choice.is_exact};
  if (choice.given) ring.named_slowest_mbps = choice.given->slowest_mbps;
  for (const std::size_t site : choice.best.order) ring.order.push_back(choice.sites[site]);
  return ring;
}

}  // namespace

std::optional<double> in_run(const Predicted& predicted, std::optional<double> of_step) {
  const Prediction& found = predicted.prediction;
  if (!found.total_s || !of_step) return std::nullopt;
  return *of_step * *found.total_s * 1000 / found.step_ms;
}

ShownPrediction document_of(const PredictFlags& given, const Predicted& predicted) {
  ShownPrediction document{.inputs = inputs_of(given, predicted),
                           .step = step_of(predicted.prediction),
                           .ring = ring_of(predicted),
                           .outer = outer_of(predicted),
                           .sent_bytes_per_step = predicted.sent.rank,
                           .volume = volumes_of(predicted),
                           .groups = groups_of(predicted),
                           .memory = memory_of(predicted),
                           .explaining_link_mbps = predicted.explaining_mbps,
                           .assumptions = predicted.assumptions};
  for (const Alternative& alternative : predicted.alternatives) {
    PredictedLink link{.name = alternative.name,
                       .link_mbps = alternative.link_mbps,
                       .step = step_of(alternative.prediction)};
    if (alternative.upgrade) {
      document.upgrades.push_back(upgrade_of(alternative, std::move(link)));
    } else {
      document.alternatives.push_back(std::move(link));
    }
  }
  return document;
}

}  // namespace chokepoint::analysis
