#include "analysis/predict/tiers.h"

#include <algorithm>
#include <cmath>

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

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

// Activations on, and gradients back; stages stand host by host.
Load pipeline_load(const PipelineProfile& pipeline, const Ranks& ranks) {
  const double bytes = pipeline.micro_batches * pipeline.micro_batch_bytes;
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
  return {.count = exchange.ranks, .nodes = std::min(ranks.hosts(), exchange.ranks)};
}

Load load_of(const PlannedExchange& exchange, Algorithm algorithm, const Ranks& ranks) {
  const Ranks part = taking_part(exchange, ranks);
  if (part.count <= 1) return {};
  const bool is_all_reduce = exchange.collective == Collective::AllReduce;
  if (is_all_reduce && algorithm != Algorithm::Ring && part.hosts() > 1) {
    return by_hosts_load(exchange.bytes, algorithm, part);
  }
  return exchange.collective == Collective::AllToAll
             ? all_to_all_load(exchange.bytes, part)
             : ring_load(exchange.collective, exchange.bytes, part);
}

Load load_of(const JobProfile& job, Algorithm algorithm, const Ranks& ranks) {
  Load load;
  for (const PlannedExchange& exchange : exchanges_of(job, ranks.count)) {
    const double at_once = exchange.collective == Collective::SendReceive ? 1 : job.at_once;
    load += times(load_of(exchange, algorithm, ranks), exchange.times * at_once);
  }
  if (job.calls) load += calls_load(*job.calls, ranks);
  if (job.pipeline && ranks.count > 1) load += pipeline_load(*job.pipeline, ranks);
  return load;
}

}  // namespace chokepoint::analysis
