#include "analysis/predict/tiers.h"

#include <algorithm>
#include <cmath>

#include "analysis/predict/wire.h"
#include "base/math/tcp_rate.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxCollectives = 10'000;
constexpr double kFlagBytes = 16;

// They become ready one after the other during the part of computing that may hide them; those
// under way at once end together.
void add_collectives(const ObservedCollectives& observed, const JobProfile& profile,
                     std::vector<PlannedExchange>& exchanges) {
  const double in_turn = observed.times / profile.at_once;
  const double count = std::clamp(std::round(in_turn), 1.0, kMaxCollectives);
  const double start_ms = profile.compute_ms - profile.overlap_ms;
  for (double number = 1; number <= count; ++number) {
    exchanges.push_back({.collective = observed.kind,
                         .bytes = observed.bytes,
                         .ready_ms = start_ms + profile.overlap_ms * number / count,
                         .times = in_turn / count});
  }
}

std::vector<PlannedExchange> collectives_of(const JobProfile& profile) {
  std::vector<PlannedExchange> exchanges;
  if (profile.kinds.empty()) {
    add_collectives({.times = profile.collectives, .bytes = profile.bytes_of_collective}, profile,
                    exchanges);
  }
  for (const ObservedCollectives& observed : profile.kinds) {
    add_collectives(observed, profile, exchanges);
  }
  std::ranges::stable_sort(exchanges, {}, &PlannedExchange::ready_ms);
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
  return math::line_goodput(bytes);
}

// If only rounds and bytes are known: messages that follow one another.
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

// In a tree a rank in the middle of its host's chain passes the data up and down.
double chain_passes(double each) { return each > 2 ? 2 : 1; }

bool has_one_tier(const Tiers& tiers) {
  return tiers.ranks.hosts() <= 1 || tiers.ranks.each() <= 1 || !tiers.inside;
}

// All links alike: those inside where there is one host alone.
double one_tier_ms(Collective collective, double bytes, const Tiers& tiers) {
  const bool is_inside = tiers.ranks.hosts() <= 1 && tiers.inside;
  return ring_ms(collective, bytes, tiers.ranks.count, is_inside ? *tiers.inside : tiers.between);
}

double latency_ms(Collective collective, const Tiers& tiers) {
  const double between = ring_hops(collective, tiers.ranks.hosts());
  const double inside = ring_hops(collective, tiers.ranks.count) - between;
  return between * tiers.between.alpha_ms + inside * tiers.inside->alpha_ms;
}

// The slowest link of the ring, which enters and leaves each host by all of its NICs.
double ring_of_hosts_ms(Collective collective, double bytes, const Tiers& tiers) {
  const double pace = std::min(tiers.between.bytes_per_ms, tiers.inside->bytes_per_ms);
  return latency_ms(collective, tiers) + bus_factor(collective, tiers.ranks.count) * bytes / pace;
}

double tree_of_hosts_ms(double bytes, const Tiers& tiers) {
  const double between_ms = tree_all_reduce_ms(bytes, tiers.ranks.hosts(), tiers.between);
  if (!tiers.inside || tiers.ranks.each() <= 1) return between_ms;
  const double each = std::ceil(tiers.ranks.each());
  const double bare_ms = tree_all_reduce_ms(0, tiers.ranks.hosts(), tiers.between);
  const double inside_ms = chain_passes(each) * bytes / tiers.inside->bytes_per_ms;
  return bare_ms + 2 * (each - 1) * tiers.inside->alpha_ms +
         std::max(between_ms - bare_ms, inside_ms);
}

double hierarchical_ms(double bytes, const Tiers& tiers) {
  const double hosts = tiers.ranks.hosts();
  const double each = std::ceil(tiers.ranks.each());
  const double inside_ms =
      tiers.inside ? ring_ms(Collective::AllReduce, bytes, each, *tiers.inside) : 0;
  return inside_ms + ring_ms(Collective::AllReduce, bytes, hosts, tiers.between);
}

// Each rank to each other one. What leaves by another rank's NIC passes that rank first (PXN).
double all_to_all_ms(double bytes, const Tiers& tiers) {
  const Load load =
      load_of({.collective = Collective::AllToAll, .bytes = bytes}, Algorithm::Ring, tiers.ranks);
  return latency_ms(Collective::AllToAll, tiers) +
         std::max(load.host / tiers.between.bytes_per_ms, load.inside / tiers.inside->bytes_per_ms);
}

Load all_to_all_load(double bytes, const Ranks& ranks) {
  const double leaves = (ranks.count - ranks.each()) / ranks.count * bytes;  // of a rank
  const double forwarded = leaves * (1 - 1 / std::min(ranks.nics, std::max(ranks.each(), 1.0)));
  return {.rank = bus_factor(Collective::AllToAll, ranks.count) * bytes,
          .inside = (ranks.each() - 1) / ranks.count * bytes + forwarded,
          .host = leaves * ranks.each(),
          .network = leaves * ranks.count};
}

// A rank sends the same to its neighbour wherever that is.
Load ring_load(Collective collective, double bytes, const Ranks& ranks) {
  const double sent = bus_factor(collective, ranks.count) * bytes;
  const double host = ranks.hosts() > 1 ? sent : 0;
  return {.rank = sent,
          .inside = ranks.each() > 1 ? sent : 0,
          .host = host,
          .network = host * ranks.hosts()};
}

Load by_hosts_load(double bytes, Algorithm algorithm, const Ranks& ranks) {
  const double each = std::ceil(ranks.each());
  const double host = bus_factor(Collective::AllReduce, ranks.hosts()) * bytes;
  const double inside = each <= 1 ? 0
                        : algorithm == Algorithm::Tree
                            ? chain_passes(each) * bytes
                            : bus_factor(Collective::AllReduce, each) * bytes;
  return {.rank = bus_factor(Collective::AllReduce, ranks.count) * bytes,
          .inside = inside,
          .host = host,
          .network = host * ranks.hosts()};
}

// Each rank of a stage sends to the one in its place in the next stage.
Load stages_load(const PipelineProfile::Stages& stages, double bytes) {
  return {.rank = 2 * (stages.count - 1) / stages.count * bytes,
          .inside = stages.has_inside ? bytes : 0,
          .host = stages.most_sent * bytes,
          .network = stages.sent * bytes};
}

// Activations on, and gradients back; stages stand host by host.
Load pipeline_load(const PipelineProfile& pipeline, const Ranks& ranks) {
  const double bytes = pipeline.micro_batches * pipeline.micro_batch_bytes;
  if (pipeline.stages) return stages_load(*pipeline.stages, bytes);
  const double ways = pipeline.is_forward_only ? 1 : 2;
  const double hosts = ranks.hosts();
  return {.rank = bytes,
          .inside = ranks.each() > 1 ? bytes : 0,
          .host = hosts > 2   ? ways * bytes
                  : hosts > 1 ? bytes
                              : 0,
          .network = (hosts - 1) * ways * bytes};
}

// The caller's requests, and all answers.
Load calls_load(const CallProfile& calls, const Ranks& ranks) {
  const double sent = calls.calls * calls.request_bytes * (ranks.count - 1);
  const double back = calls.calls * calls.answer_bytes * (ranks.count - 1);
  return {.rank = sent, .host = sent, .network = sent + back};
}

}  // namespace

std::vector<PlannedExchange> exchanges_of(const JobProfile& profile, double ranks) {
  if (!profile.exchanges.empty() || profile.pipeline || profile.calls) return profile.exchanges;
  const bool has_collectives = profile.collectives > 0 && profile.bytes_of_collective > 0;
  return has_collectives ? collectives_of(profile) : messages_of(profile, ranks);
}

double bus_factor(Collective collective, double ranks) {
  if (ranks <= 1) return 0;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return (ranks - 1) / ranks;
    case Collective::Broadcast:
    case Collective::SendReceive:
      return 1;
  }
  return 1;
}

double ring_hops(Collective collective, double ranks) {
  if (ranks <= 1) return 0;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (ranks - 1);
    case Collective::SendReceive:
      return 1;
    default:
      return ranks - 1;
  }
}

double ring_ms(Collective collective, double bytes, double ranks, const Hop& hop) {
  return ring_hops(collective, ranks) * hop.alpha_ms +
         bus_factor(collective, ranks) * bytes / hop.bytes_per_ms;
}

double tree_all_reduce_ms(double bytes, double nodes, const Hop& hop) {
  if (nodes <= 1) return 0;
  return 2 * std::ceil(std::log2(nodes)) * hop.alpha_ms +
         bus_factor(Collective::AllReduce, nodes) * bytes / hop.bytes_per_ms;
}

double exchange_ms(Collective collective, Algorithm algorithm, double bytes, const Tiers& tiers) {
  const bool is_over_hosts = collective == Collective::AllReduce && tiers.ranks.hosts() > 1;
  if (is_over_hosts && algorithm == Algorithm::Tree) return tree_of_hosts_ms(bytes, tiers);
  if (is_over_hosts && algorithm == Algorithm::Hierarchical) return hierarchical_ms(bytes, tiers);
  if (has_one_tier(tiers)) return one_tier_ms(collective, bytes, tiers);
  if (collective == Collective::AllToAll) return all_to_all_ms(bytes, tiers);
  if (collective == Collective::SendReceive) return ring_ms(collective, bytes, 2, tiers.between);
  return ring_of_hosts_ms(collective, bytes, tiers);
}

Load& Load::operator+=(const Load& more) {
  rank += more.rank;
  inside += more.inside;
  host += more.host;
  network += more.network;
  return *this;
}

Load times(const Load& load, double factor) {
  return {.rank = load.rank * factor,
          .inside = load.inside * factor,
          .host = load.host * factor,
          .network = load.network * factor};
}

Ranks taking_part(const PlannedExchange& exchange, const Ranks& ranks) {
  if (exchange.collective == Collective::SendReceive) {
    return {.count = ranks.count, .nodes = ranks.nodes};
  }
  if (exchange.ranks <= 0) return ranks;
  if (exchange.at) {
    Ranks part{.count = exchange.ranks, .nodes = exchange.at->hosts};
    const double nics = std::floor(ranks.nics / std::max(exchange.at->at_once, 1.0));
    part.nics = std::clamp(nics, 1.0, std::max(std::floor(part.each()), 1.0));
    return part;
  }
  return {.count = exchange.ranks, .nodes = std::min(ranks.hosts(), exchange.ranks)};
}

double sharing(double at_once, double nics) { return std::max(at_once / nics, 1.0); }

namespace {

// Of one group.
Load group_load(const PlannedExchange& exchange, Algorithm algorithm, const Ranks& part) {
  const bool is_all_reduce = exchange.collective == Collective::AllReduce;
  if (is_all_reduce && algorithm != Algorithm::Ring && part.hosts() > 1) {
    return by_hosts_load(exchange.bytes, algorithm, part);
  }
  return exchange.collective == Collective::AllToAll
             ? all_to_all_load(exchange.bytes, part)
             : ring_load(exchange.collective, exchange.bytes, part);
}

}  // namespace

Load load_of(const PlannedExchange& exchange, Algorithm algorithm, const Ranks& ranks) {
  const Ranks part = taking_part(exchange, ranks);
  if (part.count <= 1) return {};
  Load load = group_load(exchange, algorithm, part);
  if (exchange.at) {
    load.network = load.host * exchange.at->crossings;
    load.host *= exchange.at->at_once;
  }
  return load;
}

Load load_of(const JobProfile& job, Algorithm algorithm, const Ranks& ranks,
             std::optional<Parallelism> of) {
  Load load;
  for (const PlannedExchange& exchange : exchanges_of(job, ranks.count)) {
    if (of && exchange.of != *of) continue;
    const double at_once = exchange.collective == Collective::SendReceive ? 1 : job.at_once;
    load += times(load_of(exchange, algorithm, ranks), exchange.times * at_once);
  }
  if (job.calls) load += calls_load(*job.calls, ranks);
  const bool has_stages = job.pipeline && (!of || *of == Parallelism::Pipeline);
  if (has_stages && ranks.count > 1) load += pipeline_load(*job.pipeline, ranks);
  return load;
}

}  // namespace chokepoint::analysis
