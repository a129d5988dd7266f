#include "analysis/export/perfetto/tracks.h"

#include <fmt/format.h>

namespace chokepoint::analysis {

Places::Places(ExportedRun& run, std::size_t node, TraceWriter& trace)
    : run_(run), node_(node), trace_(trace) {
  run.each<record::Process>(node, [this](const record::Process& process) {
    if (process.rank.known()) {
      process_ranks_.emplace(process.id, process.rank.value());
      commands_.try_emplace(process.rank.value(), process.command);
    }
  });
  run.each<record::Flow>(node, [this](const record::Flow& flow) { flows_.emplace(flow.id, flow); });
  take_peers();
}

void Places::take_peers() {
  for (const Connection& connection : run_.data().connections) {
    for (const std::size_t own : {0U, 1U}) {
      const std::size_t other = 1 - own;
      const auto& end = connection.ends.at(own);
      if (!end || end->node != node_) {
        continue;
      }
      const auto& rank = connection.ranks.at(other);
      peers_.emplace(run_.data().nodes[node_].flows[end->flow].row.id,
                     rank ? fmt::format("rank {} on {}", *rank, connection.names.at(other))
                          : connection.names.at(other));
    }
  }
}

Track Places::host() {
  if (!host_) {
    const NodeData& data = run_.data().nodes[node_];
    host_ = trace_.process(fmt::format("node {}", data.name),
                           {.command = data.command, .label = data.host});
  }
  return *host_;
}

Track Places::of_rank(record::Figure rank) {
  if (!rank.known() && commands_.size() == 1) {
    rank = commands_.begin()->first;
  }
  if (!rank.known()) {
    return host();
  }
  const auto [place, is_new] = ranks_.try_emplace(rank.value());
  if (is_new) {
    const auto command = commands_.find(rank.value());
    place->second = trace_.process(
        fmt::format("rank {} on {}", rank.value(), run_.data().nodes[node_].name),
        {.command = command == commands_.end() ? std::string_view() : command->second});
  }
  return place->second;
}

Track Places::of_flow(std::int64_t id) {
  const record::Flow* row = flow(id);
  const auto rank =
      row == nullptr ? process_ranks_.end() : process_ranks_.find(row->process.value_or(-1));
  return of_rank(rank == process_ranks_.end() ? record::Figure() : record::Figure(rank->second));
}

const record::Flow* Places::flow(std::int64_t id) const {
  const auto found = flows_.find(id);
  return found == flows_.end() ? nullptr : &found->second;
}

std::string Places::peer_of(std::int64_t flow) const {
  const auto peer = peers_.find(flow);
  return peer == peers_.end() ? std::string() : peer->second;
}

}  // namespace chokepoint::analysis
