// What a reading says, as a row of the run record and as sums. Pure functions.
#pragma once

#include <cstdint>

#include "base/net/tcp_info.h"
#include "base/record/samples.h"
#include "capture/socket/reading.h"

namespace chokepoint::capture::socket {

// Without the time, the flow and the direction. What the kernel does not give stays unknown.
record::SocketSample sample_of(const Reading& reading, const net::TcpInfo& info);

// Whether anything but the time differs.
bool is_other(const record::SocketSample& one, const record::SocketSample& other);

// What a connection has come to since it began; only grows.
struct Totals {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t retransmitted_bytes = 0;
  std::uint64_t retransmitted_segments = 0;
  std::uint64_t sent_segments = 0;
  std::uint64_t busy_us = 0;
  std::uint64_t receive_window_us = 0;
  std::uint64_t send_buffer_us = 0;

  // A figure that went down, as none should, has not grown.
  Totals since(const Totals& before) const;
  Totals& operator+=(const Totals& more);
};

Totals totals_of(const net::TcpInfo& info);

}  // namespace chokepoint::capture::socket
