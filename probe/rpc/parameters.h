// The parameters of a test of calls, from the client's flags and in the request to the server,
// which passes them on to the next worker of a chain. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/sys/error.h"

namespace chokepoint::probe::rpc {

inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;
inline constexpr int kMaxCallers = 1024;
inline constexpr int kMaxOutstanding = 1024;
// Each has a session, a turn and connections of the one before it.
inline constexpr std::size_t kMaxNext = 15;

// A worker that another one calls while it handles a call.
struct NextWorker {
  std::string host = {};  // as its caller resolves it
  std::uint16_t port = control::kPort;
};

enum class OnlyFamily { Any, Ipv4, Ipv6 };

struct Parameters {
  std::uint64_t request_bytes = 1024;
  std::uint64_t response_bytes = 1024;
  int callers = 1;      // a connection each
  int outstanding = 1;  // calls of a caller at once
  std::chrono::nanoseconds time{10'000'000'000};
  std::chrono::nanoseconds pause{0};  // of a caller, from an answer to its next call
  std::string congestion = {};
  bool no_delay = true;                        // without Nagle's algorithm
  std::optional<double> pace_bits_per_s = {};  // each way, all connections
  std::vector<NextWorker> next = {};           // in the order in which they are called
  OnlyFamily family = OnlyFamily::Any;         // between workers
  bool share = false;                          // may run beside other tests that share
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);
Result<> check(const Parameters& parameters, const control::Limits& limits);

// For each of its connections, at either end.
net::SocketOptions socket_options(const Parameters& parameters);

// Of the server, at most: what it receives into, and what it remembers of calls.
std::int64_t memory_of(const Parameters& parameters);

// How long no byte of any call may move before the test is given up: each caller of a chain allows
// more than the next one, so that it is the one before the fault that reports it.
std::chrono::nanoseconds stall_limit_of(const Parameters& parameters);

}  // namespace chokepoint::probe::rpc
