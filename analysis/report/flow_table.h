// The connections of the job, one line each, for the page's table: what each direction carried,
// how long it was busy, and what limited it; and the traffic between each two names. Values and
// pure functions.
//
// Figures of a direction come from the sender's end, or from the receiver's where the sender's has
// none; packets out of order from the receiver's first, since they show only there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/limits/limit_timeline.h"
#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {

struct FlowDirection {
  std::optional<std::int64_t> bytes = {};  // on the wire
  std::optional<std::int64_t> payload_bytes = {};
  std::optional<std::int64_t> packets = {};
  std::optional<std::int64_t> retransmitted_packets = {};
  std::optional<std::int64_t> fast_retransmissions = {};
  std::optional<std::int64_t> timeout_retransmissions = {};
  std::optional<std::int64_t> out_of_order = {};
  std::optional<std::int64_t> duplicate_acks = {};
  std::optional<std::int64_t> zero_windows = {};
  std::optional<std::int64_t> window_full = {};
  std::optional<std::int64_t> max_in_flight_bytes = {};
  std::optional<std::int64_t> max_window_bytes = {};
  std::optional<std::int64_t> max_cwnd_bytes = {};
  std::optional<double> busy_s = {};              // time with unacknowledged data, by the kernel
  std::optional<double> busy_mbps = {};           // of payload, while it arrived; see path_pace.h
  std::optional<double> throughput_mbps = {};     // of payload, over the connection's life
  std::optional<math::Distribution> rtt_ms = {};  // at the sender's end
  std::optional<LimitTimes> limited_by = {};      // of the time that the diagnosis examined

  std::optional<double> retransmitted_percent() const;  // of packets
};

struct FlowSide {
  std::string name = {};  // node's, or the address of one without a record
  std::string address = {};
  std::optional<std::int64_t> port = {};
  std::optional<std::int64_t> rank = {};
  std::string interface = {};
  std::string process = {};
};

struct FlowLine {
  std::size_t id = 0;  // its place in the table
  std::string protocol = {};
  std::array<FlowSide, 2> sides = {};     // a, b
  std::optional<double> start_s = {};     // since the origin, on the common clock
  std::optional<double> end_s = {};       // unknown: still open when watching ended, or killed
  std::optional<double> min_rtt_ms = {};  // unloaded, as in the diagnosis
  std::array<FlowDirection, 2> directions = {};  // by Direction
  std::vector<std::string> seen_by = {};         // nodes
  std::string source = {};

  // Of the direction that carried most, of those whose sender timed its packets.
  std::optional<math::Distribution> rtt_ms() const;
};

struct FlowTable {
  std::vector<FlowLine> flows = {};  // as RunData::connections
  std::size_t left_out = 0;          // connections that carried nothing of the job's
};

// `limit_timeline` may be null: what held the connections back is then unknown.
FlowTable flow_table(const RunData& run, const Clocks& clocks, const LimitTimeline* limit_timeline,
                     std::int64_t origin_ns);

// The congestion window; with `usual_mss` where the sample does not know the size of a segment.
std::optional<std::int64_t> cwnd_bytes(const record::SocketSample& sample,
                                       std::optional<std::int64_t> usual_mss);

template <class T>
using Square = std::vector<std::vector<std::optional<T>>>;

// The payload of the job's connections between each two names, summed.
struct TrafficMatrix {
  // Nodes, then addresses of peers without a record; of many, the last name is of all others.
  std::vector<std::string> names = {};
  // Row sends, column receives; unknown where nothing was seen.
  Square<std::int64_t> bytes = {};
  Square<double> throughput_mbps = {};  // over the run
  std::string source = {};
};

// `run_s`: how long the run took; unknown or 0 leaves throughput unknown.
TrafficMatrix traffic_matrix(const RunData& run, const FlowTable& table,
                             std::optional<double> run_s);

}  // namespace chokepoint::analysis
