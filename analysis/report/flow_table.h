// The connections of the job, one line each, for the page's table: what each direction carried, how
// long it was at it, and what held it back. Values; flow_table() is pure.
//
// Of each direction the sender's end is asked first and the receiver's where that says nothing; of
// what arrives out of order the receiver's first, since only there it can be seen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/limits/blame.h"
#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {

struct FlowWay {
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
  std::optional<double> busy_s = {};           // something was under way, by the kernel's stopwatch
  std::optional<double> busy_mbps = {};        // of payload, while it came; see path_pace.h
  std::optional<double> throughput_mbps = {};  // of payload, over the connection's life
  std::optional<math::Distribution> rtt_ms = {};  // at the sender's end
  std::optional<LimitTimes> limited_by = {};      // of the communication that was looked at

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
  std::string protocol = {};
  std::array<FlowSide, 2> sides = {};     // a, b
  std::optional<double> start_s = {};     // since the origin, on the common clock
  std::optional<double> end_s = {};       // unknown: still open when watching ended, or killed
  std::optional<double> min_rtt_ms = {};  // unloaded, as the diagnosis has it
  std::array<FlowWay, 2> ways = {};       // by Direction
  std::vector<std::string> seen_by = {};  // nodes
  std::string source = {};

  // Of the direction that carried most, of those whose sender timed its packets.
  std::optional<math::Distribution> rtt_ms() const;
};

struct FlowTable {
  std::vector<FlowLine> flows = {};  // as RunData::connections
  std::size_t left_out = 0;          // connections that carried nothing of the job's
};

// `blame` may be null: what held the connections back is then unknown.
FlowTable flow_table(const RunData& run, const Clocks& clocks, const Blame* blame,
                     std::int64_t origin_ns);

}  // namespace chokepoint::analysis
