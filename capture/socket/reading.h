// What the kernel says of one TCP socket in one message of sock_diag: an answer, a part of a dump,
// or the last word on a socket that was destroyed. Parsing believes nothing: a message that is too
// short is none, an attribute that is too short is as good as not there.
#pragma once

#include <linux/inet_diag.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "capture/packet/packet.h"

namespace chokepoint::capture::socket {

// A socket as the kernel wants it named when it is asked about. Trivially copyable.
struct Name {
  std::uint8_t family = 0;
  inet_diag_sockid id = {};
};

// Values; `info` points into the message.
struct Reading {
  Name name = {};
  std::uint64_t cookie = 0;     // a socket's for good, and in its network namespace no other's
  std::uint8_t state = 0;       // TCP_ESTABLISHED …
  packet::Ends ends = {};       // the source is the local end
  std::uint32_t interface = 0;  // it is bound to; 0: to none
  std::uint32_t inode = 0;      // 0: no process has fetched it yet, or none has it any longer
  std::uint32_t receive_queue_bytes = 0;
  std::uint32_t send_queue_bytes = 0;
  std::span<const std::byte> info = {};  // the kernel's struct tcp_info, as much as it gave
};

// `message` begins with a struct inet_diag_msg.
std::optional<Reading> parse_reading(std::span<const std::byte> message);

// What a datagram from the kernel holds, piece by piece.
struct Answer {
  std::uint32_t sequence = 0;
  std::optional<Reading> reading = {};
  int error = 0;         // errno where that is the answer
  bool is_done = false;  // the end of a dump
};

void visit_answers(std::span<const std::byte> datagram,
                   const std::function<void(const Answer&)>& visit);

}  // namespace chokepoint::capture::socket
