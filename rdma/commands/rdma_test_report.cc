#include "rdma/commands/rdma_test_report.h"

#include <algorithm>

#include "base/host/rdma.h"
#include "rdma/perf/plan.h"

namespace chokepoint::rdma {
namespace {

using documents::RdmaFigures;
using session::Round;
using session::SideFacts;
using session::SideResult;
using session::Trial;

// Of a packet of RoCE v2: preamble and gap (20), Ethernet (14 + 4), IP (20 or 40), UDP (8), base
// transport header (12), checksum (4).
constexpr double kOverheadV4 = 82;
constexpr double kOverheadV6 = 102;
// Of InfiniBand's own: local route header (8), base transport header (12), two checksums (4 + 2).
constexpr double kOverheadInfiniBand = 26;

template <class Value>
std::optional<Value> sum(const std::optional<Value>& a, const std::optional<Value>& b) {
  return a && b ? std::optional(*a + *b) : a ? a : b;
}

bool may_lose(const perf::Plan& plan) { return plan.transport != verbs::Transport::Rc; }

// Whether the server counts what arrives.
bool server_counts_arrivals(const session::Round& round) {
  return round.plan.metric == perf::Metric::Bandwidth && perf::takes_receive(round.plan.operation);
}

double overhead(const session::SideFacts& side) {
  if (!side.ethernet) {
    return kOverheadInfiniBand;
  }
  return session::address_of(side.gid).family() == net::Family::Ipv4 ? kOverheadV4 : kOverheadV6;
}

std::optional<documents::RdmaLatency> latency_of(const std::optional<math::Histogram>& latency) {
  constexpr double kNsPerUs = 1000;
  if (!latency || latency->count() == 0) {
    return std::nullopt;
  }
  return documents::RdmaLatency{.min = static_cast<double>(latency->min()) / kNsPerUs,
                                .median = latency->quantile(0.5) / kNsPerUs,
                                .p99 = latency->quantile(0.99) / kNsPerUs,
                                .p999 = latency->quantile(0.999) / kNsPerUs,
                                .max = static_cast<double>(latency->max()) / kNsPerUs,
                                .mean = latency->mean() / kNsPerUs,
                                .count = latency->count()};
}

// A side whose memory is only written or read counts nothing.
bool server_counts(const perf::Plan& plan) {
  const bool answers =
      plan.metric == perf::Metric::Latency && plan.operation == verbs::Operation::Write;
  return plan.both_ways || answers || perf::takes_receive(plan.operation);
}

documents::RdmaEnd end_of(const SideResult& result, bool is_counted) {
  documents::RdmaEnd end{.average_mbps = result.average_mbps,
                         .mismatches = result.mismatches,
                         .cpu_percent = result.cpu_percent};
  if (is_counted) {
    end.messages = result.messages;
    end.bytes = result.bytes;
  }
  if (result.duration_s > 0) {
    end.duration_s = result.duration_s;
  }
  return end;
}

RdmaFigures figures_of(const Trial& trial, const Round& round) {
  RdmaFigures figures = rdma::figures_of(round);
  figures.ceiling_mbps = ceiling_mbps(trial, round.plan.message_bytes);
  if (figures.average_mbps && figures.ceiling_mbps) {
    figures.ceiling_percent = *figures.average_mbps / *figures.ceiling_mbps * 100;
  }
  return figures;
}

documents::RdmaSide side_of(const SideFacts& side, const fabric::Changes& counters) {
  documents::RdmaSide shown{.device = side.device,
                            .port = side.port,
                            .netdev = side.netdev,
                            .rate = side.rate,
                            .link_layer = side.ethernet ? documents::LinkLayer::Ethernet
                                                        : documents::LinkLayer::InfiniBand,
                            .gid_index = side.gid_index,
                            .gid = session::text_of(side.gid),
                            .gid_type = side.gid_type,
                            .active_mtu_bytes = side.active_mtu_bytes,
                            .counters = counters};
  if (side.lid != 0) {
    shown.lid = side.lid;
  }
  return shown;
}

}  // namespace

RdmaFigures figures_of(const session::Round& round) {
  const SideResult& client = round.client;
  const SideResult& server = round.server;
  const bool by_arrivals =
      !round.plan.both_ways && may_lose(round.plan) && server_counts_arrivals(round);
  const SideResult& counted = by_arrivals ? server : client;
  RdmaFigures figures{.message_bytes = round.plan.message_bytes,
                      .iterations = counted.messages,
                      .duration_s = counted.duration_s,
                      .average_mbps = counted.average_mbps,
                      .peak_mbps = counted.peak_mbps,
                      .message_rate_per_s = counted.messages_per_s,
                      .latency_us = latency_of(client.latency_ns),
                      .mismatches = sum(client.mismatches, server.mismatches),
                      .moderation = round.plan.moderation,
                      .inline_bytes = round.plan.inline_bytes,
                      .here = end_of(client, true),
                      .there = end_of(server, server_counts(round.plan))};
  if (round.plan.both_ways) {
    figures.iterations = client.messages + server.messages;
    figures.duration_s = std::max(client.duration_s, server.duration_s);
    figures.average_mbps = sum(client.average_mbps, server.average_mbps);
    figures.peak_mbps = sum(client.peak_mbps, server.peak_mbps);
    figures.message_rate_per_s = sum(client.messages_per_s, server.messages_per_s);
  } else if (by_arrivals) {
    figures.lost = client.messages - std::min(client.messages, server.messages);
  }
  return figures;
}

std::optional<double> ceiling_mbps(const session::Trial& trial, std::uint32_t message_bytes) {
  const std::optional<double> here = host::rdma_rate_mbps(trial.client.rate);
  const std::optional<double> there = host::rdma_rate_mbps(trial.server.rate);
  const auto mtu = static_cast<std::uint32_t>(trial.agreement.mtu_bytes);
  if (!here || !there || mtu == 0 || trial.parameters.metric == perf::Metric::Latency) {
    return std::nullopt;
  }
  const std::uint32_t packets = message_bytes / mtu + (message_bytes % mtu == 0 ? 0 : 1);
  const double on_the_wire = message_bytes + packets * overhead(trial.client);
  const double directions = trial.parameters.both_ways ? 2 : 1;
  return directions * std::min(*here, *there) * message_bytes / on_the_wire;
}

documents::Rdma document_of(const Trial& trial, const fabric::Judgement& fabric) {
  const session::Parameters& asked = trial.parameters;
  const perf::Plan& plan = trial.agreement.rounds.front();
  documents::Rdma document{.operation = asked.operation,
                           .metric = asked.metric,
                           .transport = asked.transport,
                           .device = trial.client.device,
                           .gid_index = trial.client.gid_index,
                           .mtu_bytes = trial.agreement.mtu_bytes,
                           .queue_pairs = asked.queue_pairs,
                           .depth = plan.depth,
                           .post_list = plan.post_list,
                           .both_ways = asked.both_ways,
                           .events = asked.events,
                           .check = asked.check,
                           .warm_up = asked.warm_up,
                           .by_cm = asked.by_cm,
                           .memory = session::text_of(asked.client_memory),
                           .peer_memory = session::text_of(asked.server_memory),
                           .counters = trial.client_counters.grown,
                           .fabric = fabric,
                           .sides = {.here = side_of(trial.client, trial.client_counters),
                                     .there = side_of(trial.server, trial.server_counters)},
                           .lowered = trial.agreement.lowered,
                           .interrupted = trial.interrupted};
  if (trial.failure) {
    document.failure = describe(*trial.failure);
  }
  for (const Round& round : trial.rounds) {
    document.sizes.push_back(figures_of(trial, round));
  }
  // A sweep has figures for each size, and none of its own.
  if (trial.agreement.rounds.size() == 1 && !document.sizes.empty()) {
    document.figures = document.sizes.front();
  }
  return document;
}

}  // namespace chokepoint::rdma
