// What an end of a test of calls measured. A server sends it to its caller as JSON, with what the
// workers behind it measured. What an end cannot know is nullopt. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/documents/probe_rpc.h"
#include "base/math/histogram.h"
#include "base/math/statistics.h"
#include "base/sys/error.h"

namespace chokepoint::probe::rpc {

// In milliseconds.
struct Spread {
  math::Distribution values = {};
  double p90 = 0;
  double p999 = 0;
};

// Of nanoseconds.
Spread spread_of(const math::Histogram& histogram);

// nullopt where nothing was measured.
std::optional<documents::RpcTimes> times_of(const Spread& spread);

// The messages that an end sends, over all connections, as its kernel saw them.
struct SentMeasure {
  std::uint64_t retransmits = 0;  // segments
  math::Distribution rtt_ms = {};
  std::optional<double> min_rtt_ms = {};
  std::optional<std::int64_t> mss_bytes = {};
  // The congestion window when a message began that is larger than a first flight.
  math::Distribution window_bytes = {};
  std::uint64_t max_window_bytes = 0;
  // By TCP's own stopwatch, of all connections together; the second and the third are part of the
  // first.
  double busy_s = 0;
  double receive_window_s = 0;
  double send_buffer_s = 0;
};

struct HostMeasure {
  double cpu_percent = 0;                      // of the thread that has the connections
  double busy_percent = 0;                     // of the time, in which that thread did not wait
  std::optional<double> softirq_percent = {};  // on the core that had most of it
};

// What a worker did with the calls that it took.
struct Worker {
  std::uint64_t calls = 0;  // requests that arrived whole
  Spread held_ms = {};      // from a request's last byte to the first of its answer
  SentMeasure answers = {};
  HostMeasure host = {};
};

// A worker and the way to it, as its caller saw it.
struct Hop {
  std::string host = {};     // as it calls itself
  std::string address = {};  // its IP address, as its caller writes it
  std::uint64_t calls = 0;   // answered
  Spread latency_ms = {};    // from a request's first byte to the last of its answer
  SentMeasure requests = {};
  Worker worker = {};
};

// The server's Result.
struct Half {
  Worker worker = {};
  std::vector<Hop> next = {};  // the workers behind it, in the order in which they are called
};

using Interval = documents::RpcInterval;  // at the client

control::Json body_of(const Half& half);
Result<Half> half_in(const control::Json& body);

// The server's Report: a number that grows as long as bytes of calls move, at its end or behind it.
control::Json progress_body(std::uint64_t progress);
Result<std::uint64_t> progress_in(const control::Json& body);

}  // namespace chokepoint::probe::rpc
