// The paths that the job's data took between nodes, one for each direction and address family: how
// fast the data arrived, what is possible by the interfaces, the slots behind them and probes, and
// which of these is the narrowest. And the measurements of probes beside those of the job on the
// same path. Values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/flow_table.h"

namespace chokepoint::analysis {

// Another path between the same two nodes, measured by a probe.
struct OtherWay {
  std::string address = {};  // of the probe's peer
  double mbps = 0;
};

// What a path can carry no more than.
enum class PathLimit : std::uint8_t { Full, Interface, Pcie, Probe };

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
  // reached_mbps, where the path's slowest link was full most of the time.
  std::optional<double> full_mbps = {};
  std::optional<OtherWay> other_way = {};  // the best of those that the job did not take
  std::string source = {};

  // The smallest of the limits that the job did not clearly exceed; limit() names it.
  std::optional<double> possible_mbps() const;
  std::optional<PathLimit> limit() const;  // nullopt: none known
};

// `wan_rtt_ms`: as in DiagnoseOptions.
std::vector<PathPicture> path_pictures(const RunData& run, const Clocks& clocks,
                                       const FlowTable& table, double wan_rtt_ms);

// One number of a probe and what the job reached on the same path.
struct ProbeLine {
  std::string node = {};  // that ran it
  std::string kind = {};
  std::string peer = {};       // the other node, else what the probe calls it
  std::string address = {};    // of the peer; empty: unknown
  std::string direction = {};  // "send", "receive", as the node calls it; empty: both ways
  std::int64_t wall_ns = 0;
  std::string what = {};  // "throughput", "least round trip", "round trip under load", "loss"
  double probe_value = 0;
  std::optional<double> job_value = {};
  std::string unit = {};  // "mbps", "ms", "percent"
  std::string source = {};

  // Of the probe's throughput; nullopt for other numbers.
  std::optional<double> share_percent() const;
};

struct ProbeTable {
  std::vector<ProbeLine> lines = {};
  std::vector<std::string> remarks = {};  // what could not be compared, and why
};

ProbeTable probe_table(const RunData& run, const std::vector<PathPicture>& paths);

}  // namespace chokepoint::analysis
