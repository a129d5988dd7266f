// The kernel's own time of a packet's arrival, from the notes that recvmsg brings with it, in the
// monotonic clock: the kernel stamps with the wall clock, and how far that one is ahead is asked
// for at the same moment as the packet. Any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/sys/clock.h"

namespace chokepoint::probe::udp {

struct BothClocks {
  std::int64_t monotonic_ns = 0;
  std::int64_t wall_ahead_ns = 0;
};

// One clock cannot be read while the other is, so one is read around the other; again where
// something came between.
inline BothClocks read_both(const sys::SystemClock& clock) {
  constexpr int kTries = 5;
  constexpr std::int64_t kCloseNs = 1'000;
  BothClocks both;
  std::int64_t closest = INT64_MAX;
  for (int i = 0; i < kTries && closest > kCloseNs; ++i) {
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
T note_content(const cmsghdr& note) {
  T value{};
  std::memcpy(&value, CMSG_DATA(&note), sizeof(value));
  return value;
}

inline std::optional<std::int64_t> arrival_ns(const cmsghdr& note, std::int64_t wall_ahead_ns) {
  if (note.cmsg_level != SOL_SOCKET || note.cmsg_type != SCM_TIMESTAMPNS) {
    return std::nullopt;
  }
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const auto stamp = note_content<timespec>(note);
  return stamp.tv_sec * kNsPerSecond + stamp.tv_nsec - wall_ahead_ns;
}

}  // namespace chokepoint::probe::udp
