// What the engine counted and measured of a flow, for commands, the record and tests. Tallies are
// counted packet by packet; facts are worked out on request. An unknown value is an empty optional,
// never 0. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/math/statistics.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

// Retransmitted segments by cause. They sum to Tally::retransmitted_packets, except `spurious`,
// which is counted in addition to the cause.
struct Retransmissions {
  std::uint64_t fast = 0;      // the receiver had reported a hole
  std::uint64_t timeout = 0;   // the other side was silent for as long as a timer takes
  std::uint64_t probe = 0;     // the last segment again, to provoke an answer (tail loss probe)
  std::uint64_t unknown = 0;   // the receiver's reports were not seen
  std::uint64_t spurious = 0;  // had arrived already: by DSACK, or acknowledged before
};

// Of one direction. What changes with every packet is the first cache line.
struct Tally {
  std::uint64_t packets = 0;        // segments, as the wire carried them
  std::uint64_t frames = 0;         // as the tap had them: super-frames count once
  std::uint64_t bytes = 0;          // on the wire, Ethernet header included, no FCS
  std::uint64_t frame_bytes = 0;    // of the frames
  std::uint64_t payload_bytes = 0;  // of all packets, retransmissions included
  std::int64_t last_ns = 0;
  std::uint64_t unique_bytes = 0;         // of TCP's stream: each byte once
  std::uint64_t max_in_flight_bytes = 0;  // of TCP

  std::int64_t first_ns = 0;
  std::uint64_t congestion_marks = 0;

  // From here on TCP only; of RoCE what Noted says.
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t retransmitted_bytes = 0;
  Retransmissions retransmissions{};
  std::uint64_t lost_before_tap = 0;  // retransmitted packets whose first sending was not seen here
  std::uint64_t out_of_order = 0;
  std::uint64_t duplicates = 0;  // the same packet again: copied by the network or the capture
  std::uint64_t keep_alives = 0;
  std::uint64_t zero_window_probes = 0;
  std::uint64_t missing_bytes = 0;  // acknowledged, and never seen here: the capture lost them
  std::uint64_t duplicate_acks = 0;
  std::uint64_t sack_acks = 0;  // acknowledgements with a SACK block
  std::uint64_t dsack_acks = 0;
  std::uint64_t zero_windows = 0;  // times this side's window was closed
  std::uint64_t window_full = 0;   // times this side had filled the peer's window
  std::uint64_t busy_periods = 0;
};

struct DirectionFacts : Tally {
  double throughput_mbps = 0;       // payload between the first and the last packet
  double busy_throughput_mbps = 0;  // while busy

  // From here on TCP only.
  std::optional<math::Distribution> rtt_ms{};  // this side's data to the peer's ACK, at the tap
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

// The counters of a flow. Valid during the call that it is passed to.
struct Glance {
  const packet::Ends& ends;
  packet::Kind kind = packet::Kind::Tcp;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::array<const Tally*, 2> tallies{};  // a to b, b to a
};

// Sums of the flows that were folded to keep the memory bounded.
struct Remainder {
  std::uint64_t flows = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t retransmitted_bytes = 0;
};

}  // namespace chokepoint::capture::flow
