// Which process of the trace what a node saw belongs to: one for each rank, one for the node
// itself. Described when first asked for. One thread.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "analysis/export/exported_run.h"
#include "analysis/export/perfetto/trace_writer.h"

namespace chokepoint::analysis {

class Places {
 public:
  Places(ExportedRun& run, std::size_t node, TraceWriter& trace);

  std::size_t node() const { return node_; }
  Track host();
  // Of a node with a single rank, that one, where the row does not say; else the node.
  Track of_rank(record::Figure rank);
  // Of the process that a connection belongs to.
  Track of_flow(std::int64_t flow);
  // Empty where the node's record has no such connection.
  const record::Flow* flow(std::int64_t id) const;
  // "rank 1 on b", or the address: whom a connection leads to.
  std::string peer_of(std::int64_t flow) const;
  // By the node's own clock: what is exported of it.
  Span wanted() const { return run_.span_of(node_); }
  // Where a span begins that ends at t_ns, whatever a broken record says of its length.
  std::int64_t start_wall_ns(std::int64_t t_ns, std::int64_t bin_ns) const {
    return wall_ns(t_ns) - std::clamp<std::int64_t>(bin_ns, 0, kFarNs);
  }
  std::int64_t wall_ns(std::int64_t t_ns) const { return run_.clock().wall_ns(node_, t_ns); }

 private:
  void take_peers();
  const std::string& command_of(std::int64_t rank) const;

  ExportedRun& run_;
  std::size_t node_;
  TraceWriter& trace_;
  std::optional<Track> host_;
  std::map<std::int64_t, Track> ranks_;
  std::map<std::int64_t, std::string> commands_;                  // by rank
  std::unordered_map<std::int64_t, std::int64_t> process_ranks_;  // by the process' id
  std::unordered_map<std::int64_t, record::Flow> flows_;
  std::unordered_map<std::int64_t, std::string> peers_;
};

}  // namespace chokepoint::analysis
