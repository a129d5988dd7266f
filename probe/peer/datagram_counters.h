// What a UDP stream of a foreign protocol has moved so far. The stream's thread writes, anybody
// reads. Monotonic nanoseconds; 0: not yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace chokepoint::probe::peer {

struct alignas(64) DatagramCounters {
  std::atomic<std::uint64_t> packets = 0;  // sent, or received each once
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> highest = 0;  // at least so many were sent, by the numbers in them
  std::atomic<std::uint64_t> missing = 0;
  std::atomic<std::uint64_t> out_of_order = 0;
  std::atomic<std::uint64_t> duplicates = 0;
  std::atomic<double> jitter_ms = -1;  // negative: nothing known
  std::atomic<std::int64_t> first_ns = 0;
  std::atomic<std::int64_t> last_ns = 0;
  std::atomic<bool> done = false;
  std::atomic<int> error = 0;  // errno
};

// What a sender shall do: until its time or its number of packets is over.
struct DatagramPlan {
  std::size_t bytes = 0;       // of each
  double bits_per_second = 0;  // of payload; 0: as fast as it goes
  std::int64_t time_ns = 0;
  std::optional<std::uint64_t> packets = {};
};

}  // namespace chokepoint::probe::peer
