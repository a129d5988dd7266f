// The two clocks: a monotonic one for what is recorded, and the wall clock, which all hosts share,
// for what they do at the same time. Neither makes a system call where the kernel has a vDSO.
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

// Up to some milliseconds behind, at a quarter of the cost.
inline std::uint64_t coarse_now_ns() { return nanoseconds_of(CLOCK_MONOTONIC_COARSE); }

inline std::uint64_t wall_ns() { return nanoseconds_of(CLOCK_REALTIME); }

inline constexpr const char* kWindowVariable = "CHOKEPOINT_NCCL_WINDOW";

// When the costly events are recorded: in the first seconds of a process, so that a short recording
// of a job that has just begun finds them, then on_s of every of_s seconds of the wall clock, so
// that all ranks record the same collectives.
struct Window {
  std::uint64_t on_s = 1;
  std::uint64_t of_s = 8;
  std::uint64_t first_s = 30;

  // `age_ns`: of the process, since the plugin was called first.
  bool is_on(std::uint64_t wall_ns, std::uint64_t age_ns) const;
  // When to call is_on() again; never 0.
  std::uint64_t left_ns(std::uint64_t wall_ns) const;
};

// "1/8" from the start on, "0" for never, "all"; the default if `text` is null or anything else.
Window window_of(const char* text);

}  // namespace chokepoint::capture::nccl::plugin
