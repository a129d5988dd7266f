// What is counted about one direction of a flow, packet by packet. Values.
#pragma once

#include <cstdint>

namespace chokepoint::capture::flow {

// Retransmitted segments by what set them off. They sum to Tally::retransmitted_packets, but for
// `spurious`, which is counted beside the cause.
struct Retransmissions {
  std::uint64_t fast = 0;      // the receiver had reported a hole
  std::uint64_t timeout = 0;   // nothing was heard for as long as a timer takes
  std::uint64_t probe = 0;     // the last segment again, to draw out an answer (tail loss probe)
  std::uint64_t unknown = 0;   // the receiver's reports were not seen
  std::uint64_t spurious = 0;  // had arrived already: by DSACK, or acknowledged before
};

struct Tally {
  std::uint64_t packets = 0;        // segments, as the wire carried them
  std::uint64_t frames = 0;         // as the tap had them: super-frames count once
  std::uint64_t bytes = 0;          // on the wire, Ethernet header included, no FCS
  std::uint64_t frame_bytes = 0;    // of the frames
  std::uint64_t payload_bytes = 0;  // of all packets, retransmissions included
  std::uint64_t unique_bytes = 0;   // of the stream: each byte once
  std::uint64_t congestion_marks = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;

  // TCP alone from here on; RoCE what Noted tells.
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
  std::uint64_t max_in_flight_bytes = 0;
  std::uint64_t busy_periods = 0;
};

}  // namespace chokepoint::capture::flow
