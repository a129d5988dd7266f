#include "analysis/report/probed_path.h"

#include <algorithm>

#include "analysis/load/flow_key.h"

namespace chokepoint::analysis {
namespace {

bool has_address(const NodeData& node, const std::string& address) {
  return std::ranges::any_of(node.interfaces, [&](const Interface& interface) {
    return std::ranges::find(interface.addresses, address, plain_address) !=
           interface.addresses.end();
  });
}

}  // namespace

std::string peer_of(const RunData& run, const NodeData& prober, const record::Probe& probe,
                    const ProbeDocument& document) {
  const std::string address = document.peer ? plain_address(document.peer->text()) : "";
  for (const NodeData& node : run.nodes) {
    if (&node != &prober && !address.empty() && has_address(node, address)) {
      return node.name;
    }
  }
  for (const NodeData& node : run.nodes) {
    if (&node != &prober && (node.name == document.peer_name || node.name == probe.peer)) {
      return node.name;
    }
  }
  if (!address.empty()) {
    return address;
  }
  return document.peer_name.empty() ? probe.peer : document.peer_name;
}

std::string family_of(const std::optional<net::Address>& address) {
  return address ? std::string(net::name_of(address->unmapped().family())) : "";
}

std::optional<double> probed_mbps(const RunData& run, const std::string& from,
                                  const std::string& to, const std::string& family) {
  std::optional<double> most;
  for (const NodeData& node : run.nodes) {
    for (const record::Probe& probe : node.probes) {
      const auto document = read_probe(probe);
      if (!document || family_of(document->peer) != family) {
        continue;
      }
      const std::string peer = peer_of(run, node, probe, *document);
      for (const ProbeWay way : {ProbeWay::Send, ProbeWay::Receive}) {
        const bool is_sent = way == ProbeWay::Send;
        const auto& mbps = document->way(way).throughput_mbps;
        if (mbps && from == (is_sent ? node.name : peer) && to == (is_sent ? peer : node.name)) {
          most = std::max(most.value_or(0), *mbps);
        }
      }
    }
  }
  return most;
}

}  // namespace chokepoint::analysis
