// What the kernel keeps about a socket's failed packets (IP_RECVERR, MSG_ERRQUEUE): the ICMP errors
// that routers sent about them, with the router's address. It needs no privilege, and ICMP errors
// about other programs' packets do not come. Functions without state; one thread a socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/net/address.h"
#include "base/sys/error.h"
#include "probe/path/prober.h"

namespace chokepoint::probe::path {

struct IcmpMeaning {
  ReplyKind kind = ReplyKind::Unreachable;
  std::optional<Unreachable> reason = {};
};

// The target's own "port unreachable" is what a UDP trace is after: Reached.
IcmpMeaning meaning_of(net::Family family, std::uint8_t type, std::uint8_t code);

struct QueuedError {
  IcmpMeaning meaning = {};
  bool local = false;  // this host's kernel, not an ICMP message
  std::optional<net::Address> from = {};
  std::optional<std::uint32_t> mtu_bytes = {};
  std::optional<std::int64_t> wall_ns = {};  // when it arrived, by the kernel
  // What was quoted of the probe behind its UDP header: nothing where the router quoted 8 bytes.
  std::array<std::byte, 64> quote = {};
  std::size_t quoted = 0;

  std::span<const std::byte> quote_bytes() const { return {quote.data(), quoted}; }
};

// Asks the kernel to queue errors, with the time of their arrival.
Result<> enable_error_queue(int fd, net::Family family);

// The next one; nothing where the queue is empty.
std::optional<QueuedError> next_error(int fd, net::Family family);

}  // namespace chokepoint::probe::path
