#include "capture/socket/reading.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>

namespace chokepoint::capture::socket {
namespace {

packet::Address ipv4_address(std::uint32_t word) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[10] = bytes[11] = 0xff;
  std::memcpy(&bytes[12], &word, sizeof(word));
  packet::Address address;
  std::memcpy(address.words.data(), bytes.data(), bytes.size());
  return address;
}

packet::Address ipv6_address(const __be32 (&words)[4]) {  // NOLINT: the kernel's header has it so
  packet::Address address;
  std::memcpy(address.words.data(), words, sizeof(words));
  return address;
}

bool is_mapped(const packet::Address& address) {
  packet::Address host = ipv4_address(0);
  return address.words[0] == 0 && std::memcmp(&address.words[1], &host.words[1], 4) == 0;
}

// An IPv6 socket that is connected over IPv4 has mapped addresses.
packet::Ends ends_of(const inet_diag_msg& message) {
  packet::Ends ends;
  const bool is_ipv4 = message.idiag_family == AF_INET;
  ends.source =
      is_ipv4 ? ipv4_address(message.id.idiag_src[0]) : ipv6_address(message.id.idiag_src);
  ends.destination =
      is_ipv4 ? ipv4_address(message.id.idiag_dst[0]) : ipv6_address(message.id.idiag_dst);
  ends.source_port = ntohs(message.id.idiag_sport);
  ends.destination_port = ntohs(message.id.idiag_dport);
  ends.protocol = IPPROTO_TCP;
  ends.is_ipv6 = !is_ipv4 && !is_mapped(ends.source);
  return ends;
}

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

std::optional<Reading> parse_reading(std::span<const std::byte> message) {
  const auto head = net::value_at_front<inet_diag_msg>(message);
  if (!head || (head->idiag_family != AF_INET && head->idiag_family != AF_INET6)) {
    return std::nullopt;
  }
  return Reading{
      .name = {.family = head->idiag_family, .id = head->id},
      .cookie = std::uint64_t{head->id.idiag_cookie[1]} << 32U | head->id.idiag_cookie[0],
      .state = head->idiag_state,
      .ends = ends_of(*head),
      .interface = head->id.idiag_if,
      .inode = head->idiag_inode,
      .receive_queue_bytes = head->idiag_rqueue,
      .send_queue_bytes = head->idiag_wqueue,
      .info = net::attribute_of(net::behind(message, sizeof(inet_diag_msg)), INET_DIAG_INFO)};
}

Reply reply_of(const nlmsghdr& header, std::span<const std::byte> payload) {
  Reply reply{.sequence = header.nlmsg_seq,
              .error = net::error_in(header, payload),
              .is_done = header.nlmsg_type == NLMSG_DONE};
  if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
    reply.reading = parse_reading(payload);
  }
  return reply;
}

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
  // A kernel that does not count sent bytes: those that were acknowledged and retransmitted.
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
