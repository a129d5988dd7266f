// Rows of a busy connection as `chokepoint run` writes them, for programs that measure how large a
// record gets or how long it takes to read: figures that change from row to row as real ones do,
// and so cost what real ones cost. Values.
#pragma once

#include "base/record/samples.h"

namespace chokepoint::record {

// Of the tick-th bin of a flow, in which it moved about so much.
inline FlowSample busy_bin(std::int64_t tick, std::int64_t packets, std::int64_t bytes) {
  return {.packets = packets,
          .bytes = bytes + tick % 1000,
          .payload_bytes = bytes * 24 / 25 + tick % 1000,
          .retransmitted_packets = tick % 3,
          .retransmitted_bytes = tick % 3 * 1448,
          .out_of_order = 0,
          .duplicate_acks = tick % 5,
          .zero_windows = 0,
          .window_full = 0,
          .rtt_us = 15'000 + tick % 700,
          .min_rtt_us = 14'900,
          .max_in_flight_bytes = 6'220'000,
          .window_bytes = 6'291'456,
          .min_window_bytes = 6'000'000};
}

inline SocketSample busy_socket(std::int64_t tick, std::int64_t bytes) {
  return {.state = 1,
          .congestion_state = 0,
          .mss_bytes = 1448,
          .cwnd_packets = 4000 + tick % 300,
          .ssthresh_packets = 2800,
          .rtt_us = 15'000 + tick % 700,
          .rtt_variance_us = 200,
          .min_rtt_us = 14'900,
          .receive_rtt_us = 15'100,
          .timeout_us = 216'000,
          .bytes_sent = bytes,
          .bytes_acked = bytes,
          .bytes_received = bytes,
          .bytes_retransmitted = tick,
          .retransmits = tick,
          .lost_packets = 0,
          .unacked_packets = 4000,
          .reordering = 3,
          .delivered = bytes / 1448,
          .delivered_ce = 0,
          .delivery_bytes_per_s = 1'200'000'000,
          .pacing_bytes_per_s = 1'300'000'000,
          .app_limited = 0,
          .busy_us = tick * 3000,
          .receive_window_limited_us = tick * 20,
          .send_buffer_limited_us = 0,
          .unsent_bytes = 2'000'000,
          .send_queue_bytes = 8'000'000,
          .receive_queue_bytes = 0,
          .send_window_bytes = 6'291'456,
          .receive_space_bytes = 3'000'000};
}

}  // namespace chokepoint::record
