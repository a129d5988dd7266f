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

std::string peer_of(const RunData& run, const NodeData& prober, const record::Probe& probe,
                    const ProbeDocument& document, const std::string& address) {
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

void add(const ProbedPath& probed, const ProbeDocument& document, PathPicture& path) {
  for (const ProbeWay way : {ProbeWay::Send, ProbeWay::Receive}) {
    const auto& mbps = document.way(way).throughput_mbps;
    if (!mbps || !probed.is_between(path, way)) {
      continue;
    }
    if (probed.is_on(path, way)) {
      path.probe_mbps = std::max(path.probe_mbps.value_or(0), *mbps);
    } else if (!path.other_way || *mbps > path.other_way->mbps) {
      path.other_way = {.address = probed.address, .mbps = *mbps};
    }
  }
}

}  // namespace

bool ProbedPath::is_between(const PathPicture& path, ProbeWay way) const {
  const bool is_sent = way == ProbeWay::Send;
  return path.from == (is_sent ? node : peer) && path.to == (is_sent ? peer : node);
}

bool ProbedPath::is_on(const PathPicture& path, ProbeWay way) const {
  const auto& theirs = path.addresses.at(way == ProbeWay::Send ? 1 : 0);
  return is_between(path, way) &&
         (address.empty() || std::ranges::find(theirs, address) != theirs.end());
}

ProbedPath probed_path(const RunData& run, const NodeData& prober, const record::Probe& probe,
                       const ProbeDocument& document) {
  const std::string address = document.peer ? plain_address(document.peer->text()) : "";
  return {.node = prober.name,
          .peer = peer_of(run, prober, probe, document, address),
          .address = address};
}

void add_probes(const RunData& run, PathPicture& path) {
  for (const NodeData& node : run.nodes) {
    for (const record::Probe& probe : node.probes) {
      if (const auto document = read_probe(probe)) {
        add(probed_path(run, node, probe, *document), *document, path);
      }
    }
  }
}

}  // namespace chokepoint::analysis
