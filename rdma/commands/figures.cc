#include "rdma/commands/figures.h"

#include <algorithm>

#include "base/host/rdma.h"
#include "rdma/perf/layout.h"

namespace chokepoint::rdma {
namespace {

using session::Half;

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

// What arrives, even where that is nothing.
bool is_counted_there(const session::Round& round) {
  return round.plan.metric == perf::Metric::Bandwidth && perf::takes_receive(round.plan.operation);
}

Figures of(const Half& half) {
  return {.messages = half.messages,
          .duration_s = half.duration_s,
          .average_mbps = half.average_mbps,
          .peak_mbps = half.peak_mbps,
          .messages_per_s = half.messages_per_s};
}

double overhead(const session::SideFacts& side) {
  if (!side.ethernet) {
    return kOverheadInfiniBand;
  }
  return session::address_of(side.gid).family() == net::Family::Ipv4 ? kOverheadV4 : kOverheadV6;
}

}  // namespace

Figures figures_of(const session::Round& round) {
  const Half& client = round.client;
  const Half& server = round.server;
  Figures figures = of(client);
  if (round.plan.both_ways) {
    figures.messages = client.messages + server.messages;
    figures.duration_s = std::max(client.duration_s, server.duration_s);
    figures.average_mbps = sum(client.average_mbps, server.average_mbps);
    figures.peak_mbps = sum(client.peak_mbps, server.peak_mbps);
    figures.messages_per_s = sum(client.messages_per_s, server.messages_per_s);
  } else if (may_lose(round.plan) && is_counted_there(round)) {
    figures = of(server);
    figures.lost = client.messages - std::min(client.messages, server.messages);
  }
  figures.mismatches = sum(client.mismatches, server.mismatches);
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
  const double ways = trial.parameters.both_ways ? 2 : 1;
  return ways * std::min(*here, *there) * message_bytes / on_the_wire;
}

}  // namespace chokepoint::rdma
