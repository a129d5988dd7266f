// The clock of what is measured: too hot for a virtual call, and not slewed by those that set the
// time.
#pragma once

#include <cstdint>
#include <ctime>

namespace chokepoint::rdma::perf {

inline std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kNever = INT64_MAX;

}  // namespace chokepoint::rdma::perf
