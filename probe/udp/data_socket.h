// Options of a UDP probe's socket: buffer space, segmentation by the kernel (GSO and GRO), arrival
// times and counts of drops. Functions return what the kernel granted. The descriptor stays the
// caller's; any thread.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/sys/clock.h"
#include "base/sys/error.h"

namespace chokepoint::probe::udp {

// Sets the receive buffer, beyond the host's limit where this process is privileged. Returns the
// size that the kernel reports afterwards.
std::int64_t ask_for_room(int fd, int bytes);

// Enables arrival times, counts of drops, and GRO where the kernel has it.
Result<> prepare_receiving(int fd);

// Makes the kernel report packets that the local interface's queue drops, instead of counting them
// as sent.
Result<> prepare_sending(int fd);

// Each message is segmented into datagrams of this size (GSO); 0 switches it off. False where the
// kernel cannot.
bool cut_into(int fd, std::size_t bytes);

// How many packets, or GRO super-frames, the socket's queue has dropped since it was opened.
std::optional<std::uint32_t> queue_drops(int fd);

// The largest payload that reaches the connected peer unfragmented, as far as the kernel knows.
std::optional<std::size_t> largest_payload(int fd);

// The kernel stamps arrivals with the wall clock; they are converted to the monotonic clock by both
// clocks' times at the moment in which the packet is read.
struct BothClocks {
  std::int64_t monotonic_ns = 0;
  std::int64_t wall_ahead_ns = 0;
};

// Two clocks cannot be read at once, so one is read before and after the other, and again where
// that took too long.
inline BothClocks read_both(const sys::SystemClock& clock) {
  constexpr int kMaxReadings = 5;
  constexpr std::int64_t kCloseNs = 1'000;  // a reading that takes no longer is exact enough
  BothClocks both;
  std::int64_t closest = INT64_MAX;
  for (int i = 0; i < kMaxReadings && closest > kCloseNs; ++i) {
    const std::int64_t before = clock.monotonic_ns();
    const std::int64_t wall = clock.wall_ns();
    const std::int64_t after = clock.monotonic_ns();
    if (after - before < closest) {
      closest = after - before;
      both = {.monotonic_ns = after, .wall_ahead_ns = wall - before - closest / 2};
    }
  }
  return both;
}

template <class T>
T content_of(const cmsghdr& note) {
  T value{};
  std::memcpy(&value, CMSG_DATA(&note), sizeof(value));
  return value;
}

// nullopt where the control message is not a timestamp.
inline std::optional<std::int64_t> arrival_ns(const cmsghdr& note, std::int64_t wall_ahead_ns) {
  if (note.cmsg_level != SOL_SOCKET || note.cmsg_type != SCM_TIMESTAMPNS) {
    return std::nullopt;
  }
  return sys::ns_of(content_of<timespec>(note)) - wall_ahead_ns;
}

}  // namespace chokepoint::probe::udp
