// Receives one stream until the sender said how much it sent and all of it came, or nothing more
// comes. Runs on a thread of its own; the socket is connected, blocking with a short timeout
// (set_blocking), prepared by prepare_receiving, and stays the caller's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/sys/error.h"
#include "probe/udp/flow_meter.h"

namespace chokepoint::probe::udp {

// What other threads may watch meanwhile.
struct ReceiveProgress {
  std::atomic<std::uint64_t> packets = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> missing = 0;
};

// What ends it. Packets that were on their way when the sender stopped are waited for: `grace`
// after the last that came, and never longer than `most`.
struct ReceiveEnd {
  std::atomic<bool> stop = false;           // at once
  std::atomic<std::int64_t> expected = -1;  // what the sender sent, once it has told
  std::chrono::nanoseconds grace = std::chrono::milliseconds(300);
  std::chrono::nanoseconds most = std::chrono::seconds(3);
};

// Fills the meter, and closes it.
Result<> receive_stream(int fd, FlowMeter& meter, const ReceiveEnd& end, ReceiveProgress& progress);

}  // namespace chokepoint::probe::udp
