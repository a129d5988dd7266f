#include "rdma/commands/rdma_test_report.h"

#include <algorithm>

#include "base/control/bodies.h"
#include "base/host/rdma.h"
#include "rdma/perf/plan.h"

namespace chokepoint::rdma {
namespace {

using cli::Json;
using control::or_null;
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

Figures of(const SideResult& result) {
  return {.messages = result.messages,
          .duration_s = result.duration_s,
          .average_mbps = result.average_mbps,
          .peak_mbps = result.peak_mbps,
          .messages_per_s = result.messages_per_s};
}

double overhead(const session::SideFacts& side) {
  if (!side.ethernet) {
    return kOverheadInfiniBand;
  }
  return session::address_of(side.gid).family() == net::Family::Ipv4 ? kOverheadV4 : kOverheadV6;
}

Json latency_body(const std::optional<math::Histogram>& latency) {
  if (!latency || latency->count() == 0) {
    return {};
  }
  return {{"min", static_cast<double>(latency->min()) / kNsPerUs},
          {"median", latency->quantile(0.5) / kNsPerUs},
          {"p99", latency->quantile(0.99) / kNsPerUs},
          {"p999", latency->quantile(0.999) / kNsPerUs},
          {"max", static_cast<double>(latency->max()) / kNsPerUs},
          {"mean", latency->mean() / kNsPerUs},
          {"count", latency->count()}};
}

Json share_of(const std::optional<double>& average, const std::optional<double>& ceiling) {
  if (!average || !ceiling) {
    return {};
  }
  return *average / *ceiling * 100;
}

// A side whose memory is only written or read counts nothing.
bool server_counts(const perf::Plan& plan) {
  const bool answers =
      plan.metric == perf::Metric::Latency && plan.operation == verbs::Operation::Write;
  return plan.both_ways || answers || perf::takes_receive(plan.operation);
}

Json side_result_body(const SideResult& result, bool is_counted) {
  return {{"messages", is_counted ? Json(result.messages) : Json()},
          {"bytes", is_counted ? Json(result.bytes) : Json()},
          {"duration_s", result.duration_s > 0 ? Json(result.duration_s) : Json()},
          {"average_mbps", or_null(result.average_mbps)},
          {"mismatches", or_null(result.mismatches)},
          {"cpu_percent", result.cpu_percent}};
}

Json round_body(const Trial& trial, const Round& round) {
  const Figures figures = figures_of(round);
  const std::optional<double> ceiling = ceiling_mbps(trial, round.plan.message_bytes);
  return {{"message_bytes", round.plan.message_bytes},
          {"iterations", figures.messages},
          {"duration_s", figures.duration_s},
          {"average_mbps", or_null(figures.average_mbps)},
          {"peak_mbps", or_null(figures.peak_mbps)},
          {"message_rate_per_s", or_null(figures.messages_per_s)},
          {"ceiling_mbps", or_null(ceiling)},
          {"ceiling_percent", share_of(figures.average_mbps, ceiling)},
          {"latency_us", latency_body(round.client.latency_ns)},
          {"lost", or_null(figures.lost)},
          {"mismatches", or_null(figures.mismatches)},
          {"moderation", round.plan.moderation},
          {"inline_bytes", round.plan.inline_bytes},
          {"here", side_result_body(round.client, true)},
          {"there", side_result_body(round.server, server_counts(round.plan))}};
}

Json side_body(const SideFacts& side, const fabric::Changes& counters) {
  return {{"device", side.device},
          {"port", side.port},
          {"netdev", side.netdev.empty() ? Json() : Json(side.netdev)},
          {"rate", side.rate.empty() ? Json() : Json(side.rate)},
          {"link_layer", side.ethernet ? "Ethernet" : "InfiniBand"},
          {"gid_index", side.gid_index},
          {"gid", session::text_of(side.gid)},
          {"gid_type", name_of(side.gid_type)},
          {"lid", side.lid == 0 ? Json() : Json(side.lid)},
          {"active_mtu_bytes", side.active_mtu_bytes},
          {"counters", fabric::body_of(counters)}};
}

void add_shape(Json& document, const Trial& trial) {
  const session::Parameters& asked = trial.parameters;
  const perf::Plan& plan = trial.agreement.rounds.front();
  document["operation"] = name_of(asked.operation);
  document["metric"] = name_of(asked.metric);
  document["transport"] = name_of(asked.transport);
  document["device"] = trial.client.device;
  document["gid_index"] = trial.client.gid_index;
  document["mtu_bytes"] = trial.agreement.mtu_bytes;
  document["queue_pairs"] = asked.queue_pairs;
  document["depth"] = plan.depth;
  document["post_list"] = plan.post_list;
  document["both_ways"] = asked.both_ways;
  document["events"] = asked.events;
  document["check"] = asked.check;
  document["warm_up"] = asked.warm_up;
  document["by_cm"] = asked.by_cm;
  document["memory"] = session::text_of(asked.client_memory);
  document["peer_memory"] = session::text_of(asked.server_memory);
}

Json fabric_body(const fabric::Judgement& fabric) {
  return {{"status", name_of(fabric.status)},
          {"summary", fabric.sentence},
          {"next_step", fabric.next_step.empty() ? Json() : Json(fabric.next_step)}};
}

}  // namespace

Figures figures_of(const session::Round& round) {
  const SideResult& client = round.client;
  const SideResult& server = round.server;
  Figures figures = of(client);
  if (round.plan.both_ways) {
    figures.messages = client.messages + server.messages;
    figures.duration_s = std::max(client.duration_s, server.duration_s);
    figures.average_mbps = sum(client.average_mbps, server.average_mbps);
    figures.peak_mbps = sum(client.peak_mbps, server.peak_mbps);
    figures.messages_per_s = sum(client.messages_per_s, server.messages_per_s);
  } else if (may_lose(round.plan) && server_counts_arrivals(round)) {
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

void add_to(Json& document, const Trial& trial, const fabric::Judgement& fabric) {
  add_shape(document, trial);
  // A sweep has figures for each size, and none of its own.
  const bool is_one = trial.agreement.rounds.size() == 1 && !trial.rounds.empty();
  const Json figures = round_body(trial, is_one ? trial.rounds.front() : Round{});
  for (const auto& [name, value] : figures.items()) {
    document[name] = is_one ? value : Json();
  }
  document["counters"] = Json::object();
  for (const auto& [name, value] : trial.client_counters.grown) {
    document["counters"][name] = value;
  }
  document["fabric"] = fabric_body(fabric);
  document["sides"] = {{"here", side_body(trial.client, trial.client_counters)},
                       {"there", side_body(trial.server, trial.server_counters)}};
  document["lowered"] = trial.agreement.lowered;
  document["interrupted"] = trial.interrupted;
  document["failure"] = trial.failure ? Json(describe(*trial.failure)) : Json();
  document["sizes"] = Json::array();
  for (const Round& round : trial.rounds) {
    document["sizes"].push_back(round_body(trial, round));
  }
}

}  // namespace chokepoint::rdma
