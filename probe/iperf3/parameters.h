// What an iperf3 client asks a server for, as the JSON that both sides of the protocol write. What
// the client leaves out has iperf3's default. Values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::probe::iperf3 {

enum class Transport { Tcp, Udp };
enum class Way { Forward, Reverse, Both };  // forward: the client sends

struct Parameters {
  Transport transport = Transport::Tcp;
  Way way = Way::Forward;
  int omit_s = 0;
  int time_s = 10;  // 0 where an amount ends the test
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

std::string encode(const Parameters& parameters);
// Malformed, or Unsupported for what this program does not speak: SCTP, MPTCP.
Result<Parameters> decode_parameters(std::string_view json);

}  // namespace chokepoint::probe::iperf3
