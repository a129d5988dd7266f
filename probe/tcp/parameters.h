// The parameters of a TCP test, from the client's flags and in the request to the server.
// Directions are the client's: Send means from the client to the server. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/net/socket.h"
#include "base/sys/error.h"

namespace chokepoint::probe::tcp {

using control::Direction;

// What one stream receives into.
inline constexpr std::size_t kReceiveBytes = std::size_t{4} << 20;

struct Parameters {
  Direction direction = Direction::Send;
  int streams = 1;  // each way
  std::chrono::nanoseconds time{10'000'000'000};
  std::optional<std::uint64_t> bytes = {};  // each way, all streams; `time` is then only a limit
  std::chrono::nanoseconds omit{0};         // at the start, not measured
  std::chrono::nanoseconds interval{1'000'000'000};
  std::string congestion = {};
  std::optional<int> mss = {};
  std::optional<int> window = {};
  std::optional<double> pace_bits_per_s = {};  // each way, all streams
  std::optional<int> dscp = {};
  bool zero_copy = true;
  bool share = false;  // may run beside other tests that share
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);
Result<> check(const Parameters& parameters, const control::Limits& limits);

// How many connections the test needs. The first ones are those on which the client sends.
int connections(const Parameters& parameters);

// Of the server, at most: what it receives into, and sockets whose buffers were asked for.
std::int64_t memory_of(const Parameters& parameters, const control::Limits& limits);

// Whether the client sends on the connection with this index.
bool is_upstream(const Parameters& parameters, int index);

// For each of its sockets, at either end.
net::SocketOptions socket_options(const Parameters& parameters);

}  // namespace chokepoint::probe::tcp
