#include "rdma/commands/test_report.h"

#include "base/control/bodies.h"
#include "rdma/commands/figures.h"
#include "rdma/perf/layout.h"

namespace chokepoint::rdma {
namespace {

using cli::Json;
using control::or_null;
using session::Half;
using session::Round;
using session::SideFacts;
using session::Trial;

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

// Who is written to or read from hears nothing of it.
bool is_counted_there(const perf::Plan& plan) {
  const bool answers =
      plan.metric == perf::Metric::Latency && plan.operation == verbs::Operation::Write;
  return plan.both_ways || answers || perf::takes_receive(plan.operation);
}

Json half_body(const Half& half, bool is_counted) {
  return {{"messages", is_counted ? Json(half.messages) : Json()},
          {"bytes", is_counted ? Json(half.bytes) : Json()},
          {"duration_s", half.duration_s > 0 ? Json(half.duration_s) : Json()},
          {"average_mbps", or_null(half.average_mbps)},
          {"mismatches", or_null(half.mismatches)},
          {"cpu_percent", half.cpu_percent}};
}

void add_round(Json& body, const Trial& trial, const Round& round) {
  const Figures figures = figures_of(round);
  const std::optional<double> ceiling = ceiling_mbps(trial, round.plan.message_bytes);
  body["message_bytes"] = round.plan.message_bytes;
  body["iterations"] = figures.messages;
  body["duration_s"] = figures.duration_s;
  body["average_mbps"] = or_null(figures.average_mbps);
  body["peak_mbps"] = or_null(figures.peak_mbps);
  body["message_rate_per_s"] = or_null(figures.messages_per_s);
  body["ceiling_mbps"] = or_null(ceiling);
  body["ceiling_percent"] = share_of(figures.average_mbps, ceiling);
  body["latency_us"] = latency_body(round.client.latency_ns);
  body["lost"] = or_null(figures.lost);
  body["mismatches"] = or_null(figures.mismatches);
  body["moderation"] = round.plan.moderation;
  body["inline_bytes"] = round.plan.inline_bytes;
  body["here"] = half_body(round.client, true);
  body["there"] = half_body(round.server, is_counted_there(round.plan));
}

// A sweep has figures of each size, and none of its own.
void add_no_round(Json& body) {
  for (const char* name : {"message_bytes", "iterations", "duration_s", "average_mbps", "peak_mbps",
                           "message_rate_per_s", "ceiling_mbps", "ceiling_percent", "latency_us",
                           "lost", "mismatches", "moderation", "inline_bytes", "here", "there"}) {
    body[name] = nullptr;
  }
}

Json side_body(const SideFacts& side, const fabric::Changes& counters) {
  return {{"device", side.device},
          {"port", side.port},
          {"netdev", side.netdev.empty() ? Json() : Json(side.netdev)},
          {"rate", side.rate.empty() ? Json() : Json(side.rate)},
          {"link_layer", side.ethernet ? "Ethernet" : "InfiniBand"},
          {"gid_index", side.gid_index},
          {"gid", session::text_of(side.gid)},
          {"gid_type", session::name_of(side.gid_type)},
          {"lid", side.lid == 0 ? Json() : Json(side.lid)},
          {"active_mtu_bytes", side.active_mtu_bytes},
          {"counters", fabric::body_of(counters)}};
}

void add_shape(Json& document, const Trial& trial) {
  const session::Parameters& asked = trial.parameters;
  const perf::Plan& plan = trial.agreement.rounds.front();
  document["operation"] = session::name_of(asked.operation);
  document["metric"] = session::name_of(asked.metric);
  document["transport"] = verbs::name_of(asked.transport);
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
  return {{"status", fabric::name_of(fabric.status)},
          {"summary", fabric.sentence},
          {"next_step", fabric.next_step.empty() ? Json() : Json(fabric.next_step)}};
}

}  // namespace

void add_to(Json& document, const Trial& trial, const fabric::Judgement& fabric) {
  add_shape(document, trial);
  const bool one = trial.agreement.rounds.size() == 1;
  if (one && !trial.rounds.empty()) {
    add_round(document, trial, trial.rounds.front());
  } else {
    add_no_round(document);
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
    Json body = Json::object();
    add_round(body, trial, round);
    document["sizes"].push_back(std::move(body));
  }
}

}  // namespace chokepoint::rdma
