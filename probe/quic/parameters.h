// The parameters of a QUIC test, from the client's flags and in the request to the server.
// Directions are the client's: Send means from the client to the server. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/documents/probe_quic.h"
#include "base/json/fields.h"
#include "base/sys/error.h"

namespace chokepoint::probe::quic {

using control::Direction;

// Of a stream and of the connection.
inline constexpr std::uint64_t kMinWindowBytes = 4096;
inline constexpr std::uint64_t kMaxWindowBytes = std::uint64_t{1} << 40;

struct Parameters {
  Direction direction = Direction::Send;
  int streams = 1;  // each way, all of one connection
  std::chrono::nanoseconds time{10'000'000'000};
  std::chrono::nanoseconds interval{1'000'000'000};
  documents::QuicCongestion congestion = documents::QuicCongestion::Cubic;
  // The flow control window that a receiver grants, for each stream and for the connection.
  std::uint64_t window_bytes = std::uint64_t{16} << 20;
  bool segmentation = true;                    // UDP_SEGMENT and UDP_GRO
  std::optional<double> pace_bits_per_s = {};  // each way, all streams
  bool share = false;                          // may run beside other tests that share
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);
Result<> check(const Parameters& parameters, const control::Limits& limits);

// Of the server, at most: what its QUIC library keeps of data that arrived out of order, and its
// buffers.
std::int64_t memory_of(const Parameters& parameters);

inline bool client_sends(const Parameters& parameters) {
  return parameters.direction != Direction::Receive;
}
inline bool server_sends(const Parameters& parameters) {
  return parameters.direction != Direction::Send;
}

}  // namespace chokepoint::probe::quic
