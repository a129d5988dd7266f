// What one end measured of a test: per stream, per interval, and of its host. The server's half
// travels to the client as JSON; what an end cannot know is nothing. Times are seconds since the
// test began at this end. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/math/statistics.h"
#include "base/net/tcp_info.h"
#include "base/sys/error.h"
#include "probe/tcp/stream.h"

namespace chokepoint::probe::tcp {

struct StreamMeasure {
  Role role = Role::Send;
  int index = 0;
  std::uint64_t total_bytes = 0;  // what was omitted included
  std::uint64_t bytes = 0;        // measured
  double start_s = 0;             // of what was measured
  double end_s = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> max_cwnd_bytes = {};
  math::Distribution rtt_ms = {};
  std::optional<double> min_rtt_ms = {};
  std::optional<std::int64_t> mss_bytes = {};
  std::string congestion = {};
  std::optional<net::TcpChrono> chrono = {};  // senders only
  std::int64_t chrono_us = 0;                 // the time that it is of
  // How often all was under way, both windows had room and the send buffer had none.
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

struct HostMeasure {
  double cpu_percent = 0;                      // of the streams' threads together
  std::optional<double> softirq_percent = {};  // on the core that had most of it
  std::optional<int> softirq_core = {};
  std::optional<double> busiest_core_percent = {};
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
