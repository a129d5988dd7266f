#include "base/net/tcp_info.h"

#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace chokepoint::net {
namespace {

// The kernel fills in whole fields only; one is there when the answer reaches past it.
template <class Field>
bool reaches(std::size_t length, const tcp_info& info, const Field& field) {
  const auto offset = reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(&info);
  return length >= static_cast<std::size_t>(offset) + sizeof(field);
}

template <class Field>
std::optional<Field> present(std::size_t length, const tcp_info& info, const Field& field) {
  return reaches(length, info, field) ? std::optional<Field>(field) : std::nullopt;
}

std::optional<double> milliseconds(std::optional<std::uint32_t> microseconds) {
  // ~0 is the kernel's value before the first sample; 0 is no measured time either.
  if (!microseconds || *microseconds == 0 || *microseconds == ~std::uint32_t{0}) {
    return std::nullopt;
  }
  return *microseconds / 1000.0;
}

std::optional<std::uint32_t> threshold_of(const tcp_info& info) {
  // TCP_INFINITE_SSTHRESH
  return info.tcpi_snd_ssthresh < 0x7fffffff ? std::optional(info.tcpi_snd_ssthresh) : std::nullopt;
}

std::optional<std::uint64_t> pacing_of(std::size_t length, const tcp_info& info) {
  const auto rate = present(length, info, info.tcpi_pacing_rate);
  return rate != ~std::uint64_t{0} ? rate : std::nullopt;
}

// A bit of an older byte, set by kernels that report the rate it qualifies.
std::optional<bool> app_limited_of(std::size_t length, const tcp_info& info) {
  return reaches(length, info, info.tcpi_delivery_rate)
             ? std::optional<bool>(info.tcpi_delivery_rate_app_limited != 0)
             : std::nullopt;
}

std::optional<TcpChrono> chrono_of(std::size_t length, const tcp_info& info) {
  if (!reaches(length, info, info.tcpi_sndbuf_limited)) {
    return std::nullopt;
  }
  return TcpChrono{.busy_us = static_cast<std::int64_t>(info.tcpi_busy_time),
                   .receive_window_us = static_cast<std::int64_t>(info.tcpi_rwnd_limited),
                   .send_buffer_us = static_cast<std::int64_t>(info.tcpi_sndbuf_limited)};
}

}  // namespace

TcpInfo decode_tcp_info(std::span<const std::byte> raw) {
  tcp_info info{};
  const std::size_t length = std::min(raw.size(), sizeof(info));
  // Of a connection that waits for its end there is nothing, and no place where it lies.
  if (length > 0) {
    std::memcpy(&info, raw.data(), length);
  }
  return {.state = info.tcpi_state,
          .congestion_state = info.tcpi_ca_state,
          .mss_bytes = info.tcpi_snd_mss,
          .congestion_window_segments = info.tcpi_snd_cwnd,
          .in_flight_segments = info.tcpi_unacked,
          .lost_segments = info.tcpi_lost,
          .reordering_segments = info.tcpi_reordering,
          .timeout_us = info.tcpi_rto,
          .rtt_variance_us = info.tcpi_rttvar,
          .receive_space_bytes = info.tcpi_rcv_space,
          .slow_start_threshold_segments = threshold_of(info),
          .rtt_ms = milliseconds(info.tcpi_rtt),
          .min_rtt_ms = milliseconds(present(length, info, info.tcpi_min_rtt)),
          .receiver_rtt_ms = milliseconds(info.tcpi_rcv_rtt),
          .retransmits = info.tcpi_total_retrans,
          .bytes_sent = present(length, info, info.tcpi_bytes_sent),
          .bytes_acknowledged = present(length, info, info.tcpi_bytes_acked),
          .bytes_received = present(length, info, info.tcpi_bytes_received),
          .bytes_retransmitted = present(length, info, info.tcpi_bytes_retrans),
          .data_segments_sent = present(length, info, info.tcpi_data_segs_out),
          .delivered_segments = present(length, info, info.tcpi_delivered),
          .delivered_marked_segments = present(length, info, info.tcpi_delivered_ce),
          .dsack_duplicates = present(length, info, info.tcpi_dsack_dups),
          .reorderings = present(length, info, info.tcpi_reord_seen),
          .pacing_rate_bytes_per_s = pacing_of(length, info),
          .delivery_rate_bytes_per_s = present(length, info, info.tcpi_delivery_rate),
          .delivery_rate_app_limited = app_limited_of(length, info),
          .unsent_bytes = present(length, info, info.tcpi_notsent_bytes),
          .send_window_bytes = present(length, info, info.tcpi_snd_wnd),
          .chrono = chrono_of(length, info)};
}

Result<TcpInfo> read_tcp_info(int fd) {
  std::array<std::byte, sizeof(tcp_info)> raw{};
  socklen_t length = raw.size();
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, raw.data(), &length) < 0) {
    return fail(from_errno(errno, "read connection state", "socket"));
  }
  return decode_tcp_info(std::span(raw).first(length));
}

Result<SendMemory> read_send_memory(int fd) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t length = sizeof(memory);
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory.data(), &length) < 0) {
    return fail(from_errno(errno, "read buffer state", "socket"));
  }
  return SendMemory{.queued_bytes = memory[SK_MEMINFO_WMEM_QUEUED],
                    .limit_bytes = memory[SK_MEMINFO_SNDBUF]};
}

}  // namespace chokepoint::net
