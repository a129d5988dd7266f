// What a nuttcp server says when the data is over: lines for people, or key=value where the client
// asked for them. A client of version 6.1.2 scans these very words, so they are written as it
// expects them. Amounts are given in MB of 2^20 bytes with four decimals: whole datagrams can be
// counted back from them, a TCP stream's bytes only to within 53.
//
//   nuttcp-r: v6.1.2: socket
//   nuttcp-r: buflen=65536, nstream=1, port=5001 tcp
//       0.1250 MB /   0.30 sec =    3.4942 Mbps            one an interval, then DONE
//   nuttcp-r: 0.6250 MB in 1.05 real seconds = 612.14 KB/sec = 5.0146 Mbps
//   nuttcp-r: 0.6250 MB in 0.00 CPU seconds = 715883.67 KB/cpu sec
//   nuttcp-r: 11 I/O calls, msec/call = 97.33, calls/sec = 10.52
//   nuttcp-r: 0.0user 0.0sys 0:01real 0% 0i+0d 914maxrss 0+0pf 67+0csw
//
// Values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"
#include "probe/nuttcp/parameters.h"

namespace chokepoint::probe::nuttcp {

inline constexpr std::size_t kMostResultText = std::size_t{1024} * 1024;

struct IntervalText {
  double mebibytes = 0;
  double seconds = 0;
  std::optional<std::uint64_t> retransmits = {};
};

struct ResultText {
  bool transmitter = false;
  double mebibytes = 0;
  double seconds = 0;
  std::optional<double> cpu_percent = {};
  std::optional<std::uint64_t> retransmits = {};
  std::optional<double> rtt_ms = {};
  std::vector<IntervalText> intervals = {};

  std::uint64_t bytes() const;
  // How many datagrams of this size they were.
  std::uint64_t datagrams(int bytes) const;
};

// Reads key=value, which this program always asks for.
Result<ResultText> read_results(std::string_view text);

// What a server counted, in the form that the client asked for.
struct Tally {
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<double> rtt_ms = {};  // of a connection that the server made
  std::optional<int> mss = {};        // likewise
};

std::string opening_text(const Parameters& parameters, const Tally& tally, std::string_view peer);
std::string interval_line(const Parameters& parameters, std::uint64_t bytes, double seconds);
std::string closing_text(const Parameters& parameters, const Tally& tally);

}  // namespace chokepoint::probe::nuttcp
