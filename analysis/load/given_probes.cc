#include "analysis/load/given_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "analysis/load/connections.h"
#include "base/json/codec.h"
#include "base/record/names.h"
#include "base/sys/wall_time.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

struct KindOfSchema {
  std::string_view schema;
  const char* kind;  // as a record calls it
};

constexpr std::array kKinds{KindOfSchema{"chokepoint.probe.tcp/1", "tcp"},
                            KindOfSchema{"chokepoint.probe.udp/1", "udp"},
                            KindOfSchema{"chokepoint.probe.quic/1", "quic"},
                            KindOfSchema{"chokepoint.probe.latency/1", "latency"},
                            KindOfSchema{"chokepoint.probe.path/1", "path"},
                            KindOfSchema{"chokepoint.probe.storage/1", "storage"},
                            KindOfSchema{"chokepoint.pcie/1", "pcie"},
                            KindOfSchema{"chokepoint.collective/1", "collective"},
                            KindOfSchema{"chokepoint.rdma/1", "rdma"}};

std::string text_in(const Json& object, const char* key) {
  constexpr std::size_t kMaxTextBytes = 256;
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get_ref<const std::string&>().substr(0, kMaxTextBytes)
             : "";
}

std::string direction_of(const Json& document, const std::string& kind) {
  if (kind == "collective") {
    return text_in(document, "collective");
  }
  if (kind == "rdma") {
    return text_in(document, "operation") == "read" ? "receive" : "send";
  }
  return text_in(document, "direction");
}

bool has_address(const NodeData& node, const std::string& wanted) {
  return std::ranges::any_of(node.interfaces, [&](const Interface& interface) {
    return std::ranges::any_of(interface.addresses, [&](const std::string& address) {
      return plain_address(address) == wanted;
    });
  });
}

bool has_device(const NodeData& node, const std::string& device) {
  return std::ranges::any_of(node.find(record::kRdmaSentBytes), [&](const SeriesData* series) {
    return series->row.subject.starts_with(device + "/");
  });
}

bool ran_it(const NodeData& node, const GivenProbe& given) {
  const bool is_named = node.name == given.host || node.host == given.host;
  return is_named && (given.peer_address.empty() || !has_address(node, given.peer_address));
}

std::vector<NodeData*> nodes_where(RunData& run, const auto& holds) {
  std::vector<NodeData*> found;
  for (NodeData& node : run.nodes) {
    if (holds(node)) {
      found.push_back(&node);
    }
  }
  return found;
}

std::vector<NodeData*> probers_of(RunData& run, const GivenProbe& given) {
  if (!given.host.empty() || given.device.empty()) {
    return nodes_where(run, [&](const NodeData& node) { return ran_it(node, given); });
  }
  auto found =
      nodes_where(run, [&](const NodeData& node) { return has_address(node, given.own_address); });
  return !found.empty() ? found : nodes_where(run, [&](const NodeData& node) {
    return has_device(node, given.device);
  });
}

std::string place_of(const GivenProbe& given) {
  return !given.host.empty()     ? given.host
         : !given.device.empty() ? "a host with " + given.device
                                 : "an unknown host";
}

}  // namespace

Result<GivenProbe> given_probe(std::string_view text, const std::string& file) {
  const Result<Json> document = json::parse_object(text, kMaxGivenBytes, "document");
  if (!document) {
    return fail(ErrorKind::Malformed, "", file, document.error().reason,
                "give what a probe printed with --json");
  }
  const std::string schema = text_in(*document, "schema");
  const auto* const known = std::ranges::find(kKinds, schema, &KindOfSchema::schema);
  if (known == kKinds.end()) {
    return fail(ErrorKind::Malformed, "", file,
                schema.empty() ? "names no schema, so it is no document of chokepoint"
                               : fmt::format("is a {} document, which measures no ceiling", schema),
                "give what a probe or an RDMA test printed with --json");
  }
  const Json peer = document->value("peer", Json());
  const std::string peer_name = text_in(peer, "name");
  return GivenProbe{.file = file,
                    .host = text_in(*document, "host"),
                    .peer_address = plain_address(text_in(peer, "address")),
                    .wall_ns = sys::wall_ns_in(text_in(*document, "started_at")).value_or(0),
                    .row = {.kind = known->kind,
                            .peer = peer_name.empty() ? text_in(peer, "host") : peer_name,
                            .direction = direction_of(*document, known->kind),
                            .schema = schema,
                            .document = std::string(text)}};
}

Result<> add_to(RunData& run, const GivenProbe& given) {
  const std::vector<NodeData*> probers = probers_of(run, given);
  if (probers.size() != 1) {
    return fail(
        ErrorKind::NotFound, "", given.file,
        fmt::format("was measured on {}, and {} of this run {} that host", place_of(given),
                    probers.empty() ? "no node" : "several nodes", probers.empty() ? "is" : "are"));
  }
  NodeData& node = *probers.front();
  record::Probe row = given.row;
  row.id = -1 - static_cast<std::int64_t>(node.given_probes.size());
  row.t_ns = given.wall_ns == 0 ? node.span.start_ns
                                : node.span.start_ns + (given.wall_ns - node.wall_start_ns);
  node.given_probes[row.id] = given.file;
  node.probes.push_back(std::move(row));
  std::ranges::stable_sort(node.probes, {}, &record::Probe::t_ns);
  return {};
}

std::string source_of(const NodeData& node, const record::Probe& probe) {
  const auto given = node.given_probes.find(probe.id);
  return given == node.given_probes.end()
             ? fmt::format("probe {} {} of {}", probe.id, probe.kind, node.name)
             : given->second;
}

}  // namespace chokepoint::analysis
