// What a TCP test is asked to be, as the client's flags and the request say it. Directions are the
// client's: Send means from the client to the server. A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/net/socket.h"
#include "base/sys/error.h"

namespace chokepoint::probe::tcp {

using control::Direction;

struct Parameters {
  Direction direction = Direction::Send;
  int streams = 1;  // each way
  std::chrono::nanoseconds time{10'000'000'000};
  std::optional<std::uint64_t> bytes = {};  // each way, of all streams; then time is the limit
  std::chrono::nanoseconds omit{0};         // at the start, not counted
  std::chrono::nanoseconds interval{1'000'000'000};
  std::string congestion = {};
  std::optional<int> mss = {};
  std::optional<int> window = {};
  std::optional<double> pace_bits_per_s = {};  // each way, of all streams
  std::optional<int> dscp = {};
  bool zero_copy = true;
  bool share = false;  // may run beside tests that share, too
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);
Result<> check(const Parameters& parameters, const control::Limits& limits);

// How many connections the test needs, the client's senders first.
int connections(const Parameters& parameters);

// Whether the client sends on this one of them.
bool is_upstream(const Parameters& parameters, int index);

// What each of its sockets is set to, at either end.
net::SocketOptions socket_options(const Parameters& parameters);

}  // namespace chokepoint::probe::tcp
