// The clock is a parameter, so that tests can advance it. Monotonic nanoseconds order everything
// that is measured; wall-clock nanoseconds since 1970 (UTC) only anchor them for people and other
// hosts. Implementations are safe on any thread.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>

namespace chokepoint::sys {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

constexpr std::int64_t ns_of(const timespec& time) {
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}
constexpr timespec timespec_of(std::int64_t ns) {
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t monotonic_ns() const = 0;
  virtual std::int64_t wall_ns() const = 0;
};

// CLOCK_MONOTONIC and CLOCK_REALTIME.
class SystemClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override;
  std::int64_t wall_ns() const override;
};

// CPU time that the calling thread has used so far.
std::int64_t thread_cpu_ns();

// RFC 3339 in UTC with milliseconds: 2026-11-20T10:12:00.123Z
std::string rfc3339(std::int64_t wall_ns);

}  // namespace chokepoint::sys
