#include "base/sys/clock.h"

#include <fmt/format.h>

namespace chokepoint::sys {
namespace {

std::int64_t now(clockid_t id) {
  timespec at{};
  clock_gettime(id, &at);
  return ns_of(at);
}

}  // namespace

std::int64_t SystemClock::monotonic_ns() const { return now(CLOCK_MONOTONIC); }

std::int64_t SystemClock::wall_ns() const { return now(CLOCK_REALTIME); }

std::int64_t thread_cpu_ns() { return now(CLOCK_THREAD_CPUTIME_ID); }

std::string rfc3339(std::int64_t wall_ns) {
  std::int64_t nanoseconds = wall_ns % kNsPerSecond;
  std::int64_t seconds = wall_ns / kNsPerSecond;
  if (nanoseconds < 0) {
    nanoseconds += kNsPerSecond;
    seconds -= 1;
  }
  const time_t whole = seconds;
  tm parts{};
  gmtime_r(&whole, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     nanoseconds / 1'000'000);
}

}  // namespace chokepoint::sys
