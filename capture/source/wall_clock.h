// The clock that the kernel stamps packets with. Any thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace chokepoint::capture::source {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

inline std::int64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

}  // namespace chokepoint::capture::source
