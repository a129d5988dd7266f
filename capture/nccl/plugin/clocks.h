// The two clocks: one that only goes forward, for what is recorded, and one that all hosts share,
// for what they do at the same time. Both without a system call where the kernel allows it.
#pragma once

#include <time.h>

#include <cstdint>

namespace chokepoint::capture::nccl::plugin {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

inline std::uint64_t nanoseconds_of(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t now_ns() { return nanoseconds_of(CLOCK_MONOTONIC); }

// Some milliseconds behind, for a quarter of the price.
inline std::uint64_t coarse_now_ns() { return nanoseconds_of(CLOCK_MONOTONIC_COARSE); }

inline std::uint64_t wall_ns() { return nanoseconds_of(CLOCK_REALTIME); }

}  // namespace chokepoint::capture::nccl::plugin
