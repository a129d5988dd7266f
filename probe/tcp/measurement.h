// What one end measured in a test: per stream, per interval, and of its host. The server sends its
// half to the client as JSON. What an end cannot know is nullopt. Times are seconds since the test
// began at this end. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/documents/probe_tcp.h"
#include "base/json/fields.h"
#include "base/math/statistics.h"
#include "base/net/tcp_info.h"
#include "base/sys/error.h"
#include "probe/tcp/stream.h"

namespace chokepoint::probe::tcp {

struct StreamMeasure {
  Role role = Role::Send;
  int index = 0;
  std::uint64_t total_bytes = 0;  // with those of the omitted start
  std::uint64_t bytes = 0;        // without them
  double start_s = 0;             // of the first byte that counts
  double end_s = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> max_cwnd_bytes = {};
  math::Distribution rtt_ms = {};
  std::optional<double> min_rtt_ms = {};
  std::optional<std::int64_t> mss_bytes = {};
  std::string congestion = {};
  std::optional<net::TcpChrono> chrono = {};  // senders only
  std::int64_t chrono_us = 0;                 // the time that `chrono` covers
  // The share of samples in which everything was in flight, both windows had room and the send
  // buffer had none.
  double starved_share = 0;
  std::optional<std::uint64_t> send_window_bytes = {};  // the largest the receiver offered
  double cpu_percent = 0;                               // of the stream's thread
  std::string error = {};
};

struct IntervalMeasure {
  Role role = Role::Send;
  double start_s = 0;
  double end_s = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> cwnd_bytes = {};  // of all streams together
  std::optional<double> rtt_ms = {};             // mean over the streams
};

using Pacing = documents::TcpPacing;

struct HostMeasure {
  double cpu_percent = 0;                      // of the streams' threads together
  std::optional<double> softirq_percent = {};  // on the core that had most of it
  std::optional<int> softirq_core = {};
  std::optional<double> busiest_core_percent = {};
  std::optional<Pacing> pacing = {};  // of a sender that was asked for a pace
};

struct Half {
  std::vector<StreamMeasure> streams = {};
  std::vector<IntervalMeasure> intervals = {};
  HostMeasure host = {};
};

control::Json body_of(const IntervalMeasure& interval);
control::Json body_of(const Half& half);
Result<IntervalMeasure> interval_in(const control::Json& body);
Result<Half> half_in(const control::Json& body);

}  // namespace chokepoint::probe::tcp
