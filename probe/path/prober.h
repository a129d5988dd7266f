// How a trace sends and hears: one probe out, any number of replies in. The sockets stand behind
// it, and so does the made-up network of the tests. One thread.
//
//   plan ── Shot{sequence, ttl} ──▶ Prober ── packet with that TTL ──▶ routers, target
//   plan ◀── Reply{sequence?, …} ── Prober ◀── ICMP error or the target's own answer ──
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"
#include "probe/path/hop.h"

namespace chokepoint::probe::path {

struct Shot {
  std::uint32_t sequence = 0;
  int ttl = 0;
};

enum class ReplyKind {
  Expired,      // a router on the way: the TTL ran out there
  Reached,      // the target
  Unreachable,  // somebody refused to pass it on
  TooBig,       // a router, or this host, says how large a packet may be
};

struct Reply {
  // Nothing where the router quoted too little of the probe to tell which one it was.
  std::optional<std::uint32_t> sequence = {};
  ReplyKind kind = ReplyKind::Expired;
  std::optional<net::Address> from = {};
  std::optional<Unreachable> reason = {};
  std::optional<std::uint32_t> mtu_bytes = {};
  std::int64_t received_ns = 0;  // monotonic
};

class Prober {
 public:
  virtual ~Prober() = default;
  virtual Result<> send(const Shot& shot) = 0;
  // Waits until something came, at most so long.
  virtual Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) = 0;
  // Nothing more is expected of this probe.
  virtual void abandon(std::uint32_t sequence) = 0;
};

}  // namespace chokepoint::probe::path
