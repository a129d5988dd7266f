// Checks of flags that several probes have: usage errors. Pure.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "base/control/limits.h"
#include "base/sys/error.h"

namespace chokepoint::probe {

// The longest measurement of this host alone, which no server's limits bound.
inline constexpr std::chrono::hours kMaxLocalTime{1};

// "10 ms", "1 h": of a bound, which is whole in some unit.
inline std::string bound_text(std::chrono::nanoseconds bound) {
  using namespace std::chrono;
  return bound % hours(1) == nanoseconds(0)     ? fmt::format("{} h", bound / hours(1))
         : bound % seconds(1) == nanoseconds(0) ? fmt::format("{} s", bound / seconds(1))
         : bound % milliseconds(1) == nanoseconds(0)
             ? fmt::format("{} ms", bound / milliseconds(1))
             : fmt::format("{} µs", bound / microseconds(1));
}

inline Result<> check_at_least(const std::string& flag, std::chrono::nanoseconds value,
                               std::chrono::nanoseconds least) {
  return value >= least ? Result<>{}
                        : fail(ErrorKind::Usage, "", flag,
                               fmt::format("must be {} or more", bound_text(least)));
}

// Of the time between two reports.
inline Result<> check_interval(std::chrono::nanoseconds interval) {
  return check_at_least("--interval", interval, control::kMinInterval);
}

// Of the time of a test with a server, which has its own limit.
inline Result<> check_time(std::chrono::nanoseconds time) {
  return time.count() > 0 ? Result<>{}
                          : fail(ErrorKind::Usage, "", "--time", "must be more than 0");
}

inline Result<> check_local_time(const std::string& flag, std::chrono::nanoseconds time,
                                 std::chrono::nanoseconds least) {
  return time >= least && time <= kMaxLocalTime
             ? Result<>{}
             : fail(ErrorKind::Usage, "", flag,
                    fmt::format("must be from {} to {}", bound_text(least),
                                bound_text(kMaxLocalTime)));
}

}  // namespace chokepoint::probe
