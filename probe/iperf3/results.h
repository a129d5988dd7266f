// What each side of an iperf3 test tells the other at its end. Retransmits are nothing where the
// side did not send or could not count; datagram counts are 0 for TCP. Values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::probe::iperf3 {

struct StreamResult {
  int id = 1;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> retransmits = {};
  double jitter_s = 0;
  std::int64_t lost = 0;     // "errors"; a duplicate makes it smaller
  std::int64_t packets = 0;  // sent; at a receiver, the highest sequence number
  double start_s = 0;
  double end_s = 0;

  bool operator==(const StreamResult&) const = default;
};

struct EndResults {
  double cpu_percent = 0;
  double cpu_user_percent = 0;
  double cpu_system_percent = 0;
  bool counts_retransmits = false;
  bool sends = false;
  std::string congestion = {};
  std::vector<StreamResult> streams = {};

  const StreamResult* find(int id) const;
  bool operator==(const EndResults&) const = default;
};

std::string encode(const EndResults& results);
Result<EndResults> decode_results(std::string_view json);

}  // namespace chokepoint::probe::iperf3
