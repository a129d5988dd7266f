// What the kernel knows about one TCP connection at this moment: tcp_info, in this project's units.
// Older kernels fill in less of it: what they leave out is nothing, never 0. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/sys/error.h"

namespace chokepoint::net {

// Where a sender's time went, by the kernel's own stopwatch. The kinds exclude each other; `busy`
// is any time with data to send and holds the other two. What is left of it is the network's.
struct TcpChrono {
  std::int64_t busy_us = 0;
  std::int64_t receive_window_us = 0;
  std::int64_t send_buffer_us = 0;
};

struct TcpInfo {
  std::uint8_t state = 0;             // TCP_ESTABLISHED …
  std::uint8_t congestion_state = 0;  // TCP_CA_Open … TCP_CA_Loss
  std::uint32_t mss_bytes = 0;
  std::uint32_t congestion_window_segments = 0;
  std::uint32_t in_flight_segments = 0;
  std::uint32_t lost_segments = 0;
  std::uint32_t reordering_segments = 0;
  std::uint32_t timeout_us = 0;  // until a retransmission
  std::uint32_t rtt_variance_us = 0;
  std::uint32_t receive_space_bytes = 0;
  // Nothing before the first loss.
  std::optional<std::uint32_t> slow_start_threshold_segments = {};
  std::optional<double> rtt_ms = {};
  std::optional<double> min_rtt_ms = {};
  // As the receiver sees it from the data's own timing.
  std::optional<double> receiver_rtt_ms = {};
  std::uint64_t retransmits = 0;                 // segments
  std::optional<std::uint64_t> bytes_sent = {};  // retransmissions included
  std::optional<std::uint64_t> bytes_acknowledged = {};
  std::optional<std::uint64_t> bytes_received = {};
  std::optional<std::uint64_t> bytes_retransmitted = {};
  std::optional<std::uint32_t> data_segments_sent = {};  // retransmissions included
  std::optional<std::uint32_t> delivered_segments = {};
  std::optional<std::uint32_t> delivered_marked_segments = {};  // of them with ECN's CE
  std::optional<std::uint32_t> dsack_duplicates = {};
  std::optional<std::uint32_t> reorderings = {};
  std::optional<std::uint64_t> pacing_rate_bytes_per_s = {};  // nothing where not limited
  std::optional<std::uint64_t> delivery_rate_bytes_per_s = {};
  // While the rate was measured there was too little to send.
  std::optional<bool> delivery_rate_app_limited = {};
  std::optional<std::uint32_t> unsent_bytes = {};
  std::optional<std::uint32_t> send_window_bytes = {};  // what the receiver offers
  std::optional<TcpChrono> chrono = {};

  std::uint64_t congestion_window_bytes() const {
    return std::uint64_t{congestion_window_segments} * mss_bytes;
  }
};

Result<TcpInfo> read_tcp_info(int fd);

// What a socket's send buffer holds and may hold, in the kernel's own accounting.
struct SendMemory {
  std::uint32_t queued_bytes = 0;
  std::uint32_t limit_bytes = 0;
};

Result<SendMemory> read_send_memory(int fd);

// From the bytes of the kernel's struct tcp_info, as getsockopt and inet_diag give it.
TcpInfo decode_tcp_info(std::span<const std::byte> raw);

}  // namespace chokepoint::net
