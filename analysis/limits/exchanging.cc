#include "analysis/limits/exchanging.h"

#include <algorithm>
#include <string>

namespace chokepoint::analysis {
namespace {

bool is_a_node(const RunData& run, const std::string& name) {
  return std::ranges::count(run.nodes, name, &NodeData::name) > 0;
}

bool is_each_rank_here(const RunData& run) {
  const auto is_counted = [](const record::Process& process) { return process.world_size.known(); };
  return absent_ranks(run).empty() && std::ranges::any_of(run.nodes, [&](const NodeData& node) {
           return std::ranges::any_of(node.processes, is_counted);
         });
}

bool has_collectives(const NodeData& node) { return !node.collectives.empty(); }

}  // namespace

bool is_within_host(const Connection& connection) {
  return connection.ends[0] && connection.ends[1] &&
         connection.ends[0]->node == connection.ends[1]->node;
}

Exchanging::Exchanging(const RunData& run)
    : run_(run),
      is_between_hosts_(!std::ranges::all_of(run.connections, is_within_host)),
      knows_all_(is_each_rank_here(run) && std::ranges::any_of(run.nodes, has_collectives) &&
                 std::ranges::any_of(run.connections, [&](const Connection& connection) {
                   return is_between_nodes(connection);
                 })) {}

bool Exchanging::includes(const Connection& connection) const {
  if (!connection.is_exchange) {
    return false;
  }
  return is_within_host(connection) ? !is_between_hosts_
                                    : !knows_all_ || is_between_nodes(connection);
}

bool Exchanging::is_between_nodes(const Connection& connection) const {
  return connection.names[0] != connection.names[1] && is_a_node(run_, connection.names[0]) &&
         is_a_node(run_, connection.names[1]);
}

}  // namespace chokepoint::analysis
