// Resolves the name of a peer of a foreign protocol and connects to it: to each of its addresses in
// turn, with an error that has the next step. Blocks no longer than its deadline; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::probe::peer {

// Where a test ends after an amount of data instead of a time: a bound for hosts that never send
// it.
inline constexpr std::chrono::hours kUntilAmountSent{24};
// A server waits for its next client until it is stopped: a year.
inline constexpr std::chrono::hours kUntilNextClient{24 * 365};

struct ClientOptions {
  net::HostPort peer;
  std::optional<net::Family> family = {};
  net::SocketOptions socket = {};  // source address and interface of every connection
  sys::Root root = sys::Root("/");
  int interrupt = -1;  // readable once the user wants to stop
};

struct Dialled {
  sys::Descriptor fd;
  net::Endpoint peer;
};

// `server`: what should run there, "iperf3 -s".
Result<Dialled> dial(const net::HostPort& host, std::optional<net::Family> family,
                     const net::SocketOptions& options, const std::string& server,
                     const net::Deadline& deadline);

// To a port that the peer is about to open: retried while it refuses, until deadline ends.
Result<sys::Descriptor> dial_soon(const net::Endpoint& peer, const net::SocketOptions& options,
                                  const net::Deadline& deadline);

}  // namespace chokepoint::probe::peer
