// The clock of the data loops: too hot for a virtual call.
#pragma once

#include <cstdint>
#include <ctime>

namespace chokepoint::probe::tcp {

inline std::int64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t monotonic_ns() { return nanoseconds_of(CLOCK_MONOTONIC); }
inline std::int64_t thread_cpu_ns() { return nanoseconds_of(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace chokepoint::probe::tcp
