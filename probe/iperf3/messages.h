// The JSON of an iperf3 test: what the client asks for, and what each side reports at the end. What
// a client leaves out has iperf3's default. Values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/limits.h"
#include "base/sys/error.h"

namespace chokepoint::probe::iperf3 {

using control::Direction;

struct Parameters {
  bool udp = false;
  Direction direction = Direction::Send;  // the client's
  int omit_s = 0;
  int time_s = 10;  // 0 if an amount ends the test
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  int streams = 1;
  int block_bytes = 128 * 1024;       // a datagram, for UDP
  std::uint64_t rate_bits_per_s = 0;  // of one stream; 0 for as fast as it goes
  std::optional<std::uint64_t> socket_pacing_bits_per_s = {};
  std::optional<int> mss = {};
  std::optional<int> window_bytes = {};
  std::optional<int> traffic_class = {};
  std::string congestion = {};
  bool no_delay = false;
  bool wide_counters = false;  // 64-bit sequence numbers in datagrams
  std::string client_version = {};

  bool operator==(const Parameters&) const = default;
};

int connections(const Parameters& parameters);
// The connections that the client sends on come first.
bool client_sends(const Parameters& parameters, int index);

std::string encode(const Parameters& parameters);
// Malformed, or Unsupported for what this program does not implement: SCTP, MPTCP.
Result<Parameters> decode_parameters(std::string_view json);

struct StreamResult {
  int id = 1;
  std::uint64_t bytes = 0;
  std::int64_t retransmits = -1;  // -1: did not send, or could not count
  double jitter_s = 0;
  // `lost` and `packets` count the omitted start, too. Versions before 3.14 have no `omitted_…` and
  // subtract what they omitted themselves.
  std::int64_t lost = 0;     // "errors"; a duplicate makes it smaller
  std::int64_t packets = 0;  // sent; at a receiver, the highest sequence number; 0 for TCP
  std::int64_t omitted_lost = 0;
  std::int64_t omitted_packets = 0;
  double start_s = 0;
  double end_s = 0;

  bool operator==(const StreamResult&) const = default;
};

struct EndResults {
  double cpu_percent = 0;
  double cpu_user_percent = 0;
  double cpu_system_percent = 0;
  int counts_retransmits = -1;  // 1: yes; 0: this system cannot; -1: this end did not send
  std::string congestion = {};
  std::vector<StreamResult> streams = {};

  const StreamResult* find(int id) const;
  bool operator==(const EndResults&) const = default;
};

std::string encode(const EndResults& results);
Result<EndResults> decode_results(std::string_view json);

}  // namespace chokepoint::probe::iperf3
