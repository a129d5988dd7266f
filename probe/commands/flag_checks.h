// Checks of flags that several probes have: usage errors. Pure.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "base/control/limits.h"
#include "base/math/units.h"
#include "base/sys/error.h"

namespace chokepoint::probe {

// The longest measurement of this host alone, which no server's limits bound.
inline constexpr std::chrono::hours kMaxLocalTime{1};

inline Result<> check_at_least(const std::string& flag, std::chrono::nanoseconds value,
                               std::chrono::nanoseconds least) {
  return value >= least ? Result<>{}
                        : fail(ErrorKind::Usage, "", flag,
                               fmt::format("must be {} or more", math::format_duration(least)));
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
                    fmt::format("must be from {} to {}", math::format_duration(least),
                                math::format_duration(kMaxLocalTime)));
}

}  // namespace chokepoint::probe
