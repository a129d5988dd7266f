// What a nuttcp client asks for, and what the server reports when the data is over. Values and pure
// functions.
//
// A request is one line: "name = value" with commas between, in the order in which version 6.1.2
// scans them. Fields of newer clients are skipped.
//
// Results are lines for people, or key=value if the client asked for that. A client of
// version 6.1.2 scans these very words. Amounts are in MB of 2^20 bytes with four decimals: whole
// datagrams can be counted back from them, a TCP stream's bytes only to within 53.
//
//   nuttcp-r: v6.1.2: socket
//   nuttcp-r: buflen=65536, nstream=1, port=5001 tcp
//       0.1250 MB /   0.30 sec =    3.4942 Mbps            one per interval, then DONE
//   nuttcp-r: 0.6250 MB in 1.05 real seconds = 612.14 KB/sec = 5.0146 Mbps
//   nuttcp-r: 0.6250 MB in 0.00 CPU seconds = 715883.67 KB/cpu sec
//   nuttcp-r: 11 I/O calls, msec/call = 97.33, calls/sec = 10.52
//   nuttcp-r: 0.0user 0.0sys 0:01real 0% 0i+0d 914maxrss 0+0pf 67+0csw
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
  std::optional<std::uint64_t> blocks = {};  // nullopt: until the time is over
  double time_s = 10;                        // 0 where only the blocks count
  double interval_s = 0;                     // 0 for none
  int streams = 1;
  std::uint16_t data_port = kDataPort;
  std::optional<std::uint64_t> rate_kbits_per_s = {};  // of all streams; nullopt: unlimited
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

inline constexpr std::size_t kMaxResultText = std::size_t{1024} * 1024;

struct ResultText {
  double mebibytes = 0;
  double seconds = 0;
  std::optional<double> cpu_percent = {};
  std::optional<std::uint64_t> retransmits = {};

  std::uint64_t bytes() const;
  // The number of datagrams of this size.
  std::uint64_t datagrams(int bytes) const;
};

// Parses key=value, which this program always asks for. Interval lines are skipped.
Result<ResultText> read_results(std::string_view text);

// What a server counted.
struct Tally {
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<double> rtt_ms = {};  // of a connection that the server made
  std::optional<int> mss = {};        // likewise
};

// In the form that the client asked for.
std::string opening_text(const Parameters& parameters, const Tally& tally, std::string_view peer);
std::string interval_line(const Parameters& parameters, std::uint64_t bytes, double seconds);
std::string closing_text(const Parameters& parameters, const Tally& tally);

}  // namespace chokepoint::probe::nuttcp
