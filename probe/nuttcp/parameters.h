// The line that asks a nuttcp server for a test: "name = value" with commas between, in the order
// that version 6.1.2 scans them in. What a newer client adds is skipped. Values, pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "probe/nuttcp/protocol.h"

namespace chokepoint::probe::nuttcp {

enum class Sender { Client, Server };

struct Parameters {
  bool udp = false;
  Sender sender = Sender::Client;
  bool flipped = false;  // the receiver connects; TCP only
  int block_bytes = 64 * 1024;
  std::optional<std::uint64_t> blocks = {};  // nothing: until the time is over
  double time_s = 10;                        // 0 where only the blocks count
  double interval_s = 0;                     // 0 for none
  int streams = 1;
  std::uint16_t data_port = kDataPort;
  std::optional<std::uint64_t> rate_kbits_per_s = {};  // of all streams; nothing: unlimited
  std::optional<int> window_bytes = {};
  std::optional<int> mss = {};
  int traffic_class = 0;
  bool no_delay = false;
  bool machine_readable = false;  // results as key=value
  Version version = kOwnVersion;

  bool operator==(const Parameters&) const = default;
};

std::string encode(const Parameters& parameters);  // with the newline
// Malformed, or Unsupported for what this program does not do: multicast, traceroute, third party.
Result<Parameters> decode_parameters(std::string_view line);

}  // namespace chokepoint::probe::nuttcp
