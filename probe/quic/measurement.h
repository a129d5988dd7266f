// What one end measured in a test. The server sends its half to the client as JSON. What an end
// cannot know is nullopt. Times are seconds since the test began at this end. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/documents/probe_quic.h"
#include "base/json/fields.h"
#include "base/math/statistics.h"
#include "base/sys/error.h"
#include "probe/quic/connection.h"

namespace chokepoint::probe::quic {

using Shares = documents::QuicShares;

struct SentMeasure {
  std::uint64_t bytes = 0;  // stream data, each once
  std::uint64_t packets = 0;
  std::uint64_t lost_packets = 0;     // with stream data, as the library counts them
  std::uint64_t refused_packets = 0;  // by this host
  std::uint64_t calls = 0;
  std::uint64_t ect0_packets = 0;
  std::uint64_t max_cwnd_bytes = 0;
  std::uint64_t packet_bytes = 0;  // UDP payload that path MTU discovery has reached
  math::Distribution rtt_ms = {};  // smoothed, sampled
  std::optional<double> min_rtt_ms = {};
  bool segmentation = false;
  Shares shares = {};
};

struct ReceivedMeasure {
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
  std::uint64_t calls = 0;
  std::uint64_t ect0_packets = 0;
  std::uint64_t ce_packets = 0;
  double start_s = 0;  // of the first stream data
  double end_s = 0;
  std::vector<std::uint64_t> stream_bytes = {};
};

struct IntervalMeasure {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t lost_packets = 0;
  std::uint64_t cwnd_bytes = 0;
  std::optional<double> rtt_ms = {};
};

struct HostMeasure {
  double cpu_percent = 0;                      // of the thread that has the connection
  double busy_percent = 0;                     // of the time, in which that thread did not wait
  std::optional<double> softirq_percent = {};  // on the core that had most of it
  std::optional<int> softirq_core = {};
};

struct Half {
  SentMeasure sent = {};
  ReceivedMeasure received = {};
  HostMeasure host = {};
  std::vector<IntervalMeasure> intervals = {};
  std::string library = {};  // "ngtcp2 0.12.1"
};

// The server's Begin: the SHA-256 of the certificate that it made for this test.
control::Json certificate_body(const Fingerprint& certificate);
Result<Fingerprint> certificate_in(const control::Json& body);

control::Json body_of(const IntervalMeasure& interval);
control::Json body_of(const Half& half);
Result<IntervalMeasure> interval_in(const control::Json& body);
Result<Half> half_in(const control::Json& body);

}  // namespace chokepoint::probe::quic
