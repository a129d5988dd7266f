// Sends one stream of packets for a time, at a rate or as fast as it goes, and tells what really
// left. Runs on a thread of its own, which it keeps busy at high rates; the socket is connected,
// blocking with a short timeout (set_blocking), and stays the caller's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/sys/error.h"
#include "probe/udp/burst.h"
#include "probe/udp/flow_meter.h"

namespace chokepoint::probe::udp {

struct SendPlan {
  FlowIdentity identity = {};
  std::size_t packet_bytes = 0;
  double bits_per_second = 0;  // of payload; 0: as fast as it goes
  std::chrono::nanoseconds duration = {};
};

// What other threads may watch meanwhile.
struct SendProgress {
  std::atomic<std::uint64_t> packets = 0;
};

struct SendTally {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint32_t last_batch = 0;
  std::uint64_t skipped = 0;       // given up after stalls
  std::uint64_t dropped_here = 0;  // by the own interface's queue; counted as sent
  std::int64_t blocked_ns = 0;     // the own interface's queue was full
  bool segmented = false;
  std::optional<Burst> burst = {};  // where there was a rate to hold it against
};

// Sent bytes a second; nothing before two batches.
std::optional<double> bytes_per_second(const SendTally& tally);

// An error tells why no packet could be sent; what was sent before one is in the tally.
struct SendOutcome {
  SendTally tally = {};
  std::optional<Error> error = {};
};

SendOutcome send_stream(int fd, const SendPlan& plan, const std::atomic<bool>& stop,
                        SendProgress& progress);

}  // namespace chokepoint::probe::udp
