// The ways that the job's data took between nodes: how fast it went there, what the interfaces, the
// slots behind them and a probe say would be possible, and which of these is the narrowest. One a
// direction and address family. Values; path_pictures() is pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/flow_table.h"

namespace chokepoint::analysis {

// Another way between the same two nodes, by a probe.
struct OtherWay {
  std::string address = {};  // that the probe asked
  double mbps = 0;
};

struct PathPicture {
  std::string from = {};  // node's name, or the address of one without a record
  std::string to = {};
  std::array<std::vector<std::string>, 2> addresses = {};  // of the interfaces used: from's, to's
  std::string family = {};                                 // "ipv4", "ipv6"; empty: unknown
  std::optional<bool> is_wan = {};                         // unknown without a round trip
  std::optional<double> min_rtt_ms = {};
  std::optional<double> median_rtt_ms = {};          // of the busiest connection
  std::optional<double> retransmitted_percent = {};  // of packets
  std::optional<std::int64_t> payload_bytes = {};
  std::optional<double> reached_mbps = {};    // payload, in its best 100 ms; see path_pace.h
  std::optional<double> mean_busy_mbps = {};  // payload, while data came
  std::optional<double> interface_mbps = {};  // the slower of both ends
  std::optional<double> pcie_mbps = {};       // the narrower slot of both ends
  std::optional<double> probe_mbps = {};      // the best that a probe measured this way
  // What was reached, where a queue stood before the path's slowest link most of the time.
  std::optional<double> full_mbps = {};
  std::optional<OtherWay> other_way = {};  // the best of those that the job did not take
  std::string source = {};

  // The smallest of those that the job did not go well beyond; `limit` names it.
  std::optional<double> possible_mbps() const;
  const char* limit() const;  // "full", "interface", "pcie", "probe"; null: none known
};

// `wan_rtt_ms`: from which round trip on a path is wide-area, as DiagnoseOptions has it.
std::vector<PathPicture> path_pictures(const RunData& run, const Clocks& clocks,
                                       const FlowTable& table, double wan_rtt_ms);

}  // namespace chokepoint::analysis
