// What a flow came to: the answer of the engine, read by commands, the record and the tests. Made
// on request, not kept up to date. Unknown is an empty optional, never 0. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/math/statistics.h"
#include "capture/flow/series.h"
#include "capture/flow/tally.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

struct DirectionFacts : Tally {
  double throughput_mbps = 0;       // payload between the first and the last packet
  double busy_throughput_mbps = 0;  // while busy

  // TCP alone from here on.
  std::optional<math::Distribution>
      rtt_ms{};  // this side's data to the peer's ACK, seen at the tap
  std::optional<math::Distribution> timestamp_rtt_ms{};  // the same by the timestamp option
  std::optional<std::uint64_t> cwnd_bytes{};        // estimate: in flight at its peak, median round
  std::optional<std::uint64_t> max_window_bytes{};  // this side's, scaled; empty: scale unknown
  std::optional<std::uint8_t> window_scale{};
  std::optional<std::uint32_t> mss_bytes{};  // the most that one of its segments carries
  bool used_sack = false;
  double busy_s = 0;            // with data outstanding
  double window_limited_s = 0;  // of it, with the peer's window full
  double zero_window_s = 0;     // of it, with the peer's window closed
  double longest_idle_s = 0;
};

struct FlowFacts {
  packet::Ends ends{};  // source is a: who opened the connection, or was seen sending first
  packet::Kind kind = packet::Kind::Tcp;
  std::uint32_t interface = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool handshake_seen = false;
  bool is_closed = false;                           // FIN both ways, or RST
  std::optional<math::Distribution> path_rtt_ms{};  // both halves together, where both were seen
  std::array<DirectionFacts, 2> directions{};       // a to b, b to a
};

// What can be told of a flow without working anything out. Valid while it is being looked at.
struct Glance {
  const packet::Ends& ends;
  packet::Kind kind = packet::Kind::Tcp;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::array<const Tally*, 2> tallies{};  // a to b, b to a
};

// Flows that were folded away, oldest and idle first, to keep the memory bounded.
struct Remainder {
  std::uint64_t flows = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t retransmitted_bytes = 0;
};

}  // namespace chokepoint::capture::flow
