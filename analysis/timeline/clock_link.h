// Two nodes' clocks, one against the other: the clock link that follows from what both nodes saw of
// each other. fit_clocks() links every two nodes and leads each to one of them.
//
//   shared_packets.h  the same packets and messages at both ends → one-way delays
//   offset_band.h     one-way delays → the offset over time
//   clock_link.h      the offset, or else that by probes or wall clocks → the link
//
// Values; pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"
#include "analysis/timeline/shared_packets.h"

namespace chokepoint::analysis {

// What pairs of nodes saw of each other.
struct Shared {
  std::map<NodePair, SharedPackets> marks = {};
  std::map<NodePair, SharedPackets> collectives = {};
};

struct ClockLink {
  ClockSource source = ClockSource::None;
  ClockMap map = {};  // from the first node's clock to the second's
  std::optional<double> error_ns = {};
  std::optional<double> noise_ns = {};
  bool is_one_way = false;             // packets went in one direction only
  std::optional<double> covered = {};  // share of the first node's span in which packets were seen
};

// By packets and messages of collectives together, as both bound how far clocks are apart; else by
// probes, else by the wall clocks.
ClockLink link_of(const RunData& run, NodePair pair, const Shared& shared,
                  const FitOptions& options);

// The second's clock less the first's by their wall clocks; nullopt if one has none.
std::optional<std::int64_t> wall_offset_ns(const NodeData& first, const NodeData& second);

}  // namespace chokepoint::analysis
