#include "analysis/timeline/path_round_trip.h"

#include <algorithm>

#include "analysis/load/least_round_trip.h"

namespace chokepoint::analysis {
namespace {

bool joins(const Connection& connection, NodePair pair) {
  if (!connection.ends[0] || !connection.ends[1]) return false;
  return NodePair(std::minmax(connection.ends[0]->node, connection.ends[1]->node)) == pair;
}

}  // namespace

std::optional<double> least_round_trip_ns(const RunData& run, NodePair pair) {
  std::int64_t least_us = 0;
  for (const Connection& connection : run.connections) {
    if (!joins(connection, pair)) continue;
    for (const std::size_t end : {0U, 1U}) {
      const FlowPlace& here = *connection.ends[end];
      const FlowData& flow = run.nodes[here.node].flows[here.flow];
      // What came from the other end is answered at once: only what left makes the whole way.
      least_us = lesser_rtt_us(least_us, least_rtt_us(flow.sockets[end]));
      least_us = lesser_rtt_us(least_us, least_rtt_us(flow.packets[end]));
    }
  }
  return least_us > 0 ? std::optional(static_cast<double>(least_us) * 1000) : std::nullopt;
}

}  // namespace chokepoint::analysis
