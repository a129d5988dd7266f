#include "analysis/commands/record_views.h"
#include "analysis/report/json_values.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

Json json_of(const Steps& steps) {
  return {{"count", steps.source ? Json(steps.count) : Json()},
          {"median_ms", value_or_null(step_quantile_ms(steps, 0.5))},
          {"p99_ms", value_or_null(step_quantile_ms(steps, 0.99))},
          {"source", steps.source ? Json(name_of(*steps.source)) : Json()}};
}

Json json_of(const Volume& volume, std::optional<double> duration_s) {
  return {{"sent_bytes", value_or_null(volume.sent_bytes)},
          {"received_bytes", value_or_null(volume.received_bytes)},
          {"network_mbps_full_duplex", value_or_null(full_duplex_mbps(volume, duration_s))}};
}

Json json_of(const std::vector<ProbeSummary>& probes) {
  Json list = Json::array();
  for (const ProbeSummary& probe : probes) {
    list.push_back({{"kind", probe.kind},
                    {"peer", text_or_null(probe.peer)},
                    {"direction", text_or_null(probe.direction)},
                    {"at", sys::rfc3339(probe.wall_ns)},
                    {"verdict", text_or_null(probe.verdict)}});
  }
  return list;
}

Json json_of(const NodeSummary& node) {
  Json rows = Json::object();
  for (const auto& [table, count] : node.rows) {
    rows[table] = count;
  }
  return {{"name", node.name},
          {"host", text_or_null(node.host)},
          {"file", node.file},
          {"kernel", text_or_null(node.kernel)},
          {"program", text_or_null(node.program)},
          {"sessions", node.sessions},
          {"complete", node.is_complete},
          {"damage", node.damage ? Json(describe(*node.damage)) : Json()},
          {"exit_status", value_or_null(node.exit_status)},
          {"duration_s", value_or_null(node.duration_s)},
          {"bytes", node.bytes},
          {"rows", std::move(rows)},
          {"steps", json_of(node.steps)},
          {"volume", json_of(node.volume, node.duration_s)},
          {"overhead", {{"cpu_percent", value_or_null(node.overhead_percent)}}},
          {"probes", json_of(node.probes)},
          {"dropped", node.dropped}};
}

}  // namespace

Json document_of(const cli::Context& context, const RunSummary& run) {
  Json document = cli::document(context, "chokepoint.run/1");
  document["command"] = text_or_null(run.command);
  document["exit_status"] = value_or_null(run.exit_status);
  document["labels"] = Json::object();
  for (const auto& [key, value] : run.labels) {
    document["labels"][key] = value;
  }
  document["nodes"] = Json::array();
  for (const NodeSummary& node : run.nodes) {
    document["nodes"].push_back(json_of(node));
  }
  document["unreadable"] = Json::array();
  for (const Error& error : run.unreadable) {
    document["unreadable"].push_back(describe(error));
  }
  document["duration_s"] = value_or_null(run.duration_s);
  document["steps"] = json_of(run.steps);
  document["volume"] = json_of(run.volume, run.duration_s);
  document["overhead"] = {{"cpu_percent", value_or_null(run.overhead_percent)}};
  document["dropped"] = run.dropped;
  return document;
}

}  // namespace chokepoint::analysis
