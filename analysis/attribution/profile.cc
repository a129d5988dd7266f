#include "analysis/attribution/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "analysis/phases/phases.h"
#include "analysis/phases/pipeline.h"
#include "analysis/predict/tiers.h"
#include "base/math/statistics.h"
#include "base/math/training_pass.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMinExchangeShare = 0.01;  // of the largest exchange: a flag, a loss, a barrier

struct Traffic {
  std::vector<const Exchange*> collectives = {};  // of the node that has most
  double flags = 0;                               // tiny ones beside them
  std::vector<const Exchange*> sent = {};         // messages, of the node that sent most
};

// How many there were.
std::size_t drop_tiny(std::vector<const Exchange*>& exchanges) {
  if (exchanges.empty()) {
    return 0;
  }
  const double least = kMinExchangeShare * std::ranges::max(exchanges, {}, &Exchange::bytes)->bytes;
  return std::erase_if(exchanges,
                       [&](const Exchange* exchange) { return exchange->bytes < least; });
}

// How many were under way together, of the time in which any was.
double at_once(const std::vector<const Exchange*>& exchanges) {
  Spans spans;
  for (const Exchange* exchange : exchanges) {
    spans.push_back({exchange->own_ready_ns, exchange->end_ns});
  }
  const auto sum_ns = static_cast<double>(length_ns(spans));
  const auto any_ns = static_cast<double>(length_ns(united(std::move(spans))));
  return any_ns > 0 ? std::max(1.0, std::round(sum_ns / any_ns)) : 1;
}

Traffic traffic_of(const Exchanges& exchanges, const StepLine& steps) {
  Traffic traffic;
  for (const auto& of_node : exchanges) {
    Traffic own;
    for (const Exchange& exchange : of_node) {
      if (!covers(steps.settled, exchange.own_ready_ns)) {
        continue;
      }
      if (exchange.kind == record::CollectiveKind::Send) {
        own.sent.push_back(&exchange);
      } else if (!is_message(exchange) && exchange.bytes > 0) {
        own.collectives.push_back(&exchange);
      }
    }
    drop_tiny(own.sent);
    own.flags = static_cast<double>(drop_tiny(own.collectives));
    traffic.sent = std::max(traffic.sent, own.sent, [](const auto& one, const auto& other) {
      return one.size() < other.size();
    });
    if (own.collectives.size() > traffic.collectives.size()) {
      traffic.collectives = std::move(own.collectives);
      traffic.flags = own.flags;
    }
  }
  return traffic;
}

std::int64_t ranks_of(const RunData& run) {
  std::int64_t ranks = static_cast<std::int64_t>(run.nodes.size());
  for (const NodeData& node : run.nodes) {
    for (const record::Process& process : node.processes) {
      ranks = std::max(ranks, process.world_size.value_or(0));
    }
  }
  return ranks;
}

const char* backend_of(const Traffic& traffic) {
  const Exchange* const first = !traffic.collectives.empty() ? traffic.collectives.front()
                                : !traffic.sent.empty()      ? traffic.sent.front()
                                                             : nullptr;
  return first != nullptr && first->source == record::CollectiveSource::Nccl ? "nccl" : "gloo";
}

Collective kind_of(record::CollectiveKind kind) {
  switch (kind) {
    case record::CollectiveKind::AllGather:
    case record::CollectiveKind::Gather:
      return Collective::AllGather;
    case record::CollectiveKind::ReduceScatter:
    case record::CollectiveKind::Scatter:
      return Collective::ReduceScatter;
    case record::CollectiveKind::AllToAll:
      return Collective::AllToAll;
    case record::CollectiveKind::Broadcast:
    case record::CollectiveKind::Reduce:
      return Collective::Broadcast;
    default:
      return Collective::AllReduce;
  }
}

// Of the whole tensor. Gloo's rows have what passed both ways; NCCL's the count that the program
// gave, which is one rank's part of what is gathered or scattered.
double tensor_bytes(const Exchange& exchange, Collective kind, double ranks) {
  if (exchange.source != record::CollectiveSource::Nccl) {
    return exchange.bytes / 2 / bus_factor(kind, ranks);
  }
  const bool is_part = kind == Collective::AllGather || kind == Collective::ReduceScatter;
  return is_part ? exchange.bytes * ranks : exchange.bytes;
}

std::vector<ObservedCollectives> kinds_of(const Traffic& traffic, double ranks, double count) {
  std::map<Collective, ObservedCollectives> kinds;
  for (const Exchange* exchange : traffic.collectives) {
    const Collective kind = kind_of(exchange->kind);
    ObservedCollectives& observed = kinds[kind];
    observed.kind = kind;
    observed.times += 1;
    observed.bytes += tensor_bytes(*exchange, kind, ranks);
  }
  std::vector<ObservedCollectives> list;
  for (auto& [kind, observed] : kinds) {
    observed.bytes /= observed.times;
    observed.times /= count;
    list.push_back(observed);
  }
  return list;
}

void describe_collectives(const Traffic& traffic, double count, JobProfile& profile) {
  const auto ranks = static_cast<double>(profile.ranks);
  profile.kinds = kinds_of(traffic, ranks, count);
  const double sent = math::sum_by(profile.kinds, [&](const ObservedCollectives& each) {
    return each.times * each.bytes * bus_factor(each.kind, ranks);
  });
  profile.collectives = static_cast<double>(traffic.collectives.size()) / count;
  profile.flags = traffic.flags / count;
  profile.at_once = at_once(traffic.collectives);
  profile.bytes_of_collective =
      math::sum_by(profile.kinds, [](const auto& each) { return each.times * each.bytes; }) /
      profile.collectives;
  profile.sent_bytes = profile.received_bytes = sent;
  const bool hides = profile.parallelism != Parallelism::Tensor;
  profile.overlap_ms = hides ? profile.compute_ms * math::kBackwardShare *
                                   (1 - 1 / std::max(1.0, profile.collectives))
                             : 0;
}

// In a step that computing alone would fill there is a bubble, too, which is the model's.
void describe_stages(const PipelineView& view, double ranks, JobProfile& profile) {
  const bool is_whole = view.stages == ranks && view.batches >= 1 && view.batch_compute_ns > 0;
  if (!is_whole) {
    return;  // several pipelines side by side, or one that was seen in part
  }
  profile.pipeline = PipelineProfile{.micro_batches = std::round(view.batches),
                                     .micro_batch_bytes = view.message_bytes,
                                     .is_forward_only = view.is_forward_only};
  profile.compute_ms *= view.batches / (view.batches + view.stages - 1);
}

void describe_pipeline(const Traffic& traffic, double count, JobProfile& profile) {
  profile.parallelism = Parallelism::Pipeline;
  profile.collectives = static_cast<double>(traffic.sent.size()) / count;
  profile.sent_bytes = profile.received_bytes =
      math::sum_by(traffic.sent, &Exchange::bytes) / count;
  profile.bytes_of_collective =
      math::sum_by(traffic.sent, &Exchange::bytes) / static_cast<double>(traffic.sent.size());
  profile.overlap_ms = profile.compute_ms * (1 - 1 / std::max(1.0, profile.collectives));
}

// By the run's label, else by whether any exchange went on beside computing. A layer that is split
// among ranks has four collectives a step, two each way.
Parallelism parallelism_of(const RunData& run, const Phases& phases, double collectives) {
  constexpr double kLeastOfTensor = 4;
  for (const NodeData& node : run.nodes) {
    const auto label = node.labels.find("parallelism");
    if (label != node.labels.end()) {
      const Parallelism named = parallelism_named(label->second);
      if (named != Parallelism::Unknown) return named;
    }
  }
  return phases.hidden_ms > 0 || collectives < kLeastOfTensor ? Parallelism::Data
                                                              : Parallelism::Tensor;
}

// From the node's first step to its last; all that was watched where it saw none.
Span busy_span(const NodeData& node) {
  if (node.steps.empty()) return node.span;
  Span span{node.steps.front().start_ns, node.steps.front().end_ns};
  for (const record::Step& step : node.steps) {
    span.start_ns = std::min(span.start_ns, step.start_ns);
    span.end_ns = std::max(span.end_ns, step.end_ns);
  }
  return span;
}

// The power of all GPUs of the run while its steps went on, divided by the ranks; nullopt where no
// GPU reported its power.
std::optional<double> rank_power_w(const RunData& run, double ranks) {
  std::optional<double> sum;
  for (const NodeData& node : run.nodes) {
    const Span span = busy_span(node);
    for (const SeriesData* series : node.find(record::kGpuPower)) {
      const auto mean = mean_level(*series, span);
      sum = mean ? sum.value_or(0) + *mean : sum;
    }
  }
  return sum && ranks > 0 ? std::optional(*sum / ranks) : std::nullopt;
}

// The kernel keeps the least of its readings, a wrong one for good. Both ends of a connection go
// round the same loop: where both send, and one end's least is far below the other's, that is one.
double unloaded_rtt_us(const DirectionLimits& direction) {
  constexpr double kMaxRttRatio = 0.75;
  constexpr double kMinReturnedShare = 0.1;
  const DirectionView& view = direction.view;
  const std::size_t side = side_of(view);
  if (view.at_sender == nullptr || view.at_receiver == nullptr) {
    return direction.facts.min_rtt_us;
  }
  const auto& there = view.at_sender->sockets.at(side);
  const auto& back = view.at_receiver->sockets.at(1 - side);
  const auto sent = [](const std::vector<record::SocketSample>& samples) {
    double most = 0;
    for (const record::SocketSample& sample : samples) {
      most = std::max(most, static_cast<double>(sample.bytes_acked.value_or(0)));
    }
    return most;
  };
  const auto [less, more] = std::minmax({sent(there), sent(back)});
  const auto [low_us, high_us] = std::minmax(
      {static_cast<double>(least_rtt_us(there)), static_cast<double>(least_rtt_us(back))});
  const bool is_wrong =
      less > kMinReturnedShare * more && low_us > 0 && low_us < kMaxRttRatio * high_us;
  return is_wrong ? std::max(high_us, direction.facts.min_rtt_us) : direction.facts.min_rtt_us;
}

// What a full link carries: the rate at which the receiver got it in the fullest hundredths of a
// second, over all connections between the two nodes. The sender's own record has bursts, before
// the link spreads them.
double full_mbps(const LimitTimeline& limit_timeline, const DirectionView& main) {
  constexpr double kFullestQuantile = 0.9;
  constexpr std::int64_t kBinNs = 10'000'000;
  std::map<std::int64_t, double> bytes_in;  // by the bin's beginning
  for (const DirectionLimits& direction : limit_timeline.directions) {
    const DirectionView& view = direction.view;
    if (view.at_receiver == nullptr || view.sender != main.sender ||
        view.receiver != main.receiver) {
      continue;
    }
    for (const record::FlowSample& sample : view.at_receiver->packets.at(side_of(view))) {
      if (sample.bin_ns > 0 && sample.bin_ns <= kBinNs) {
        bytes_in[(sample.t_ns - sample.bin_ns) / kBinNs] +=
            static_cast<double>(sample.payload_bytes.value_or(0));
      }
    }
  }
  std::vector<double> mbps;
  for (const auto& [bin, bytes] : bytes_in) {
    if (bytes > 0) mbps.push_back(bytes * 8e3 / static_cast<double>(kBinNs));
  }
  return math::quantile(mbps, kFullestQuantile).value_or(0);
}

}  // namespace

MeasuredPath path_of(const RunData& run, const LimitTimeline& limit_timeline) {
  MeasuredPath measured;
  // The busiest one, of those between hosts where there are any.
  const DirectionLimits* main =
      math::most_by(limit_timeline.directions, [&](const DirectionLimits& each) {
        return std::pair(!is_within_host(run.connections[each.view.connection]), each.busy.sum());
      });
  if (main == nullptr) {
    return measured;
  }
  PathProfile& path = measured.path;
  if (const double rtt_us = unloaded_rtt_us(*main); rtt_us > 0) {
    path.rtt_ms = rtt_us / 1e3;
  }
  if (main->facts.is_lossy) {
    path.loss = main->facts.retransmitted / main->facts.packets;
  }
  measured.is_full = main->held[Limit::LinkFull] > main->held.sum() / 2 && main->rate_mbps > 0;
  if (measured.is_full) {
    path.rate_mbps = std::max(main->rate_mbps, full_mbps(limit_timeline, main->view));
  } else if (main->view.sender) {
    const NodeData& node = run.nodes[*main->view.sender];
    const Interface* interface = node.interface(main->view.at_sender->row.interface);
    path.rate_mbps = interface == nullptr ? std::nullopt : interface->speed_mbps;
  }
  return measured;
}

Result<JobProfile> profile_of(const RunData& run) {
  TRY(MeasuredJob job, measured_job_of(run));
  return std::move(job.profile);
}

Result<MeasuredJob> measured_job_of(const RunData& run) {
  const Clocks clocks = fit_clocks(run);
  const StepLine steps = choose_steps(run, clocks);
  const Phases phases = phases_of(run, clocks, steps);
  if (phases.step_ms <= 0 || phases.source == PhaseSource::None ||
      phases.source == PhaseSource::Alone) {
    return fail(ErrorKind::NotFound, "--from", run.nodes.empty() ? "" : run.nodes.front().name,
                "no steps, or nothing that passed between ranks, is in the record",
                "run the job for at least ten steps under 'chokepoint run'");
  }
  const Exchanges exchanges = exchanges_of(run, clocks);
  const Traffic traffic = traffic_of(exchanges, steps);
  const auto count = static_cast<double>(steps.settled.size());
  const double collectives = static_cast<double>(traffic.collectives.size()) / count;
  JobProfile profile{.parallelism = parallelism_of(run, phases, collectives),
                     .ranks = ranks_of(run),
                     .nodes = static_cast<std::int64_t>(run.nodes.size()),
                     .steps = static_cast<std::int64_t>(steps.all.size()),
                     .step_ms = phases.step_ms,
                     .compute_ms = phases.computing_ms + phases.waiting_ms(),
                     .exposed_ms = phases.exposed_ms};
  profile.backend = phases.source == PhaseSource::Library ? backend_of(traffic) : "";
  if (!traffic.sent.empty() && math::sum_by(traffic.sent, &Exchange::bytes) >
                                   math::sum_by(traffic.collectives, &Exchange::bytes) / 2) {
    describe_pipeline(traffic, count, profile);
    if (const auto view = pipeline_of(exchanges, steps.settled)) {
      describe_stages(*view, static_cast<double>(profile.ranks), profile);
    }
  } else if (!traffic.collectives.empty() && profile.ranks > 1) {
    describe_collectives(traffic, count, profile);
  } else {
    return fail(ErrorKind::NotFound, "--from", run.nodes.front().name,
                "the record shows that ranks communicated, but not what they exchanged: no "
                "collective of Gloo or NCCL was recognised",
                "give the job in figures, like --parameters or --parallelism rpc --request, and "
                "--compute");
  }
  if (steps.rounds) {
    profile.outer = OuterSteps{.every = static_cast<double>(steps.rounds->every)};
  }
  profile.power_w = rank_power_w(run, static_cast<double>(profile.ranks));
  const MeasuredPath path = path_of(run, limit_timeline_of(run, clocks, phases.communicating));
  profile.path = path.path;
  std::optional<Replay> replay =
      Replay::of({.run = run, .clocks = clocks, .steps = steps, .phases = phases, .path = path});
  return MeasuredJob{.profile = std::move(profile), .replay = std::move(replay)};
}

}  // namespace chokepoint::analysis
