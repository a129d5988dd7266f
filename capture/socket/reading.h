// One message of sock_diag about one TCP socket: a reply, a part of a dump, or the last state of
// a socket that was destroyed; and the same as a row of the run record and as sums. A message that
// is too short is dropped, an attribute that is too short is absent. Values and pure functions.
#pragma once

#include <linux/inet_diag.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/net/netlink.h"
#include "base/net/tcp_info.h"
#include "base/record/samples.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::socket {

// How a request names a socket. Trivially copyable.
struct Name {
  std::uint8_t family = 0;
  inet_diag_sockid id = {};
};

// `info` points into the message.
struct Reading {
  Name name = {};
  std::uint64_t cookie = 0;     // never changes, and is unique in its network namespace
  std::uint8_t state = 0;       // TCP_ESTABLISHED …
  packet::Ends ends = {};       // the source is the local end
  std::uint32_t interface = 0;  // that it is bound to; 0: none
  std::uint32_t inode = 0;      // 0: not accepted by a process yet, or closed by all
  std::uint32_t receive_queue_bytes = 0;
  std::uint32_t send_queue_bytes = 0;
  std::span<const std::byte> info = {};  // the kernel's struct tcp_info, as much as it gave
};

// `message` begins with a struct inet_diag_msg.
std::optional<Reading> parse_reading(std::span<const std::byte> message);

// One message of a datagram from the kernel.
struct Reply {
  std::uint32_t sequence = 0;
  std::optional<Reading> reading = {};
  int error = 0;         // errno, if the reply is an error
  bool is_done = false;  // the end of a dump
};

Reply reply_of(const nlmsghdr& header, std::span<const std::byte> payload);

// visit(const Reply&). A template, so that nothing is allocated per datagram.
template <class Visit>
void for_each_reply(std::span<const std::byte> datagram, Visit&& visit) {
  net::for_each_message(datagram, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
    visit(reply_of(header, payload));
  });
}

// Without the time, the flow and the direction. What the kernel does not report stays unknown.
record::SocketSample sample_of(const Reading& reading, const net::TcpInfo& info);

// Whether anything but the time differs.
bool is_other(const record::SocketSample& one, const record::SocketSample& other);

// Of a connection since it began; only grows.
struct Totals {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t retransmitted_bytes = 0;
  std::uint64_t retransmitted_segments = 0;
  std::uint64_t sent_segments = 0;
  std::uint64_t busy_us = 0;
  std::uint64_t receive_window_us = 0;
  std::uint64_t send_buffer_us = 0;

  // A figure that went down, as none should, counts as no growth.
  Totals since(const Totals& before) const;
  Totals& operator+=(const Totals& more);
};

Totals totals_of(const net::TcpInfo& info);

}  // namespace chokepoint::capture::socket
