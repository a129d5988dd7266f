// What is known of two nodes' clocks, one against the other, by the best source there is. Values;
// pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clock_map.h"
#include "analysis/timeline/clocks.h"
#include "analysis/timeline/shared_packets.h"

namespace chokepoint::analysis {

struct ClockLink {
  ClockSource source = ClockSource::None;
  ClockMap map = {};  // from the first node's clock to the second's
  std::optional<double> error_ns = {};
  std::optional<double> noise_ns = {};
  bool is_one_way = false;             // packets went one way only
  std::optional<double> covered = {};  // share of the first node's span in which packets were seen
};

// What pairs of nodes saw of each other.
struct Shared {
  std::map<NodePair, SharedPackets> marks = {};
  std::map<NodePair, SharedPackets> collectives = {};
};

// By packets and messages of collectives together, as both bound how far clocks are apart; else by
// probes, else by the wall clocks.
ClockLink link_of(const RunData& run, NodePair pair, const Shared& shared,
                  const FitOptions& options);

// The second's clock less the first's by their wall clocks; nothing where one has none.
std::optional<std::int64_t> wall_offset_ns(const NodeData& first, const NodeData& second);

}  // namespace chokepoint::analysis
