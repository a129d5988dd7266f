#include "capture/socket/sample.h"

#include <cmath>
#include <cstring>
#include <optional>

namespace chokepoint::capture::socket {
namespace {

constexpr double kUsPerMs = 1'000.0;

template <class T>
record::Figure figure(const std::optional<T>& value) {
  return value ? record::Figure(*value) : record::Figure();
}

record::Figure microseconds(const std::optional<double>& ms) {
  return ms ? record::Figure(std::llround(*ms * kUsPerMs)) : record::Figure();
}

std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

void put_progress(const net::TcpInfo& info, record::SocketSample& row) {
  row.bytes_sent = figure(info.bytes_sent);
  row.bytes_acked = figure(info.bytes_acknowledged);
  row.bytes_received = figure(info.bytes_received);
  row.bytes_retransmitted = figure(info.bytes_retransmitted);
  row.retransmits = info.retransmits;
  row.delivered = figure(info.delivered_segments);
  row.delivered_ce = figure(info.delivered_marked_segments);
  row.reorder_seen = figure(info.reorderings);
  row.dsack_duplicates = figure(info.dsack_duplicates);
  if (info.chrono) {
    row.busy_us = info.chrono->busy_us;
    row.receive_window_limited_us = info.chrono->receive_window_us;
    row.send_buffer_limited_us = info.chrono->send_buffer_us;
  }
}

void put_state(const net::TcpInfo& info, record::SocketSample& row) {
  row.congestion_state = info.congestion_state;
  row.mss_bytes = info.mss_bytes;
  row.cwnd_packets = info.congestion_window_segments;
  row.ssthresh_packets = figure(info.slow_start_threshold_segments);
  row.rtt_us = microseconds(info.rtt_ms);
  row.rtt_variance_us = info.rtt_ms ? record::Figure(info.rtt_variance_us) : record::Figure();
  row.min_rtt_us = microseconds(info.min_rtt_ms);
  row.receive_rtt_us = microseconds(info.receiver_rtt_ms);
  row.timeout_us = info.timeout_us;
  row.lost_packets = info.lost_segments;
  row.unacked_packets = info.in_flight_segments;
  row.reordering = info.reordering_segments;
  row.delivery_bytes_per_s = figure(info.delivery_rate_bytes_per_s);
  row.pacing_bytes_per_s = figure(info.pacing_rate_bytes_per_s);
  row.app_limited = figure(info.delivery_rate_app_limited);
  row.unsent_bytes = figure(info.unsent_bytes);
  row.send_window_bytes = figure(info.send_window_bytes);
  row.receive_space_bytes = info.receive_space_bytes;
}

}  // namespace

record::SocketSample sample_of(const Reading& reading, const net::TcpInfo& info) {
  record::SocketSample row;
  row.state = reading.state;
  row.send_queue_bytes = reading.send_queue_bytes;
  row.receive_queue_bytes = reading.receive_queue_bytes;
  if (!reading.info.empty()) {
    put_state(info, row);
    put_progress(info, row);
  }
  return row;
}

bool is_other(const record::SocketSample& one, const record::SocketSample& other) {
  record::SocketSample same_time = other;
  same_time.t_ns = one.t_ns;
  return std::memcmp(&one, &same_time, sizeof(one)) != 0;
}

Totals Totals::since(const Totals& before) const {
  return {.sent_bytes = grown(sent_bytes, before.sent_bytes),
          .received_bytes = grown(received_bytes, before.received_bytes),
          .retransmitted_bytes = grown(retransmitted_bytes, before.retransmitted_bytes),
          .retransmitted_segments = grown(retransmitted_segments, before.retransmitted_segments),
          .sent_segments = grown(sent_segments, before.sent_segments),
          .busy_us = grown(busy_us, before.busy_us),
          .receive_window_us = grown(receive_window_us, before.receive_window_us),
          .send_buffer_us = grown(send_buffer_us, before.send_buffer_us)};
}

Totals& Totals::operator+=(const Totals& more) {
  sent_bytes += more.sent_bytes;
  received_bytes += more.received_bytes;
  retransmitted_bytes += more.retransmitted_bytes;
  retransmitted_segments += more.retransmitted_segments;
  sent_segments += more.sent_segments;
  busy_us += more.busy_us;
  receive_window_us += more.receive_window_us;
  send_buffer_us += more.send_buffer_us;
  return *this;
}

Totals totals_of(const net::TcpInfo& info) {
  Totals totals;
  totals.retransmitted_bytes = info.bytes_retransmitted.value_or(0);
  // Of a kernel that does not count what it sent: what arrived of it, and what was sent again.
  totals.sent_bytes = info.bytes_sent.value_or(info.bytes_acknowledged.value_or(0) +
                                               info.retransmits * info.mss_bytes);
  totals.received_bytes = info.bytes_received.value_or(0);
  totals.retransmitted_segments = info.retransmits;
  totals.sent_segments = info.data_segments_sent.value_or(0);
  if (info.chrono) {
    totals.busy_us = static_cast<std::uint64_t>(info.chrono->busy_us);
    totals.receive_window_us = static_cast<std::uint64_t>(info.chrono->receive_window_us);
    totals.send_buffer_us = static_cast<std::uint64_t>(info.chrono->send_buffer_us);
  }
  return totals;
}

}  // namespace chokepoint::capture::socket
