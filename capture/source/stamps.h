// Which clock a tap's frames have: the wall clock, by which the kernel stamps them, or the
// monotonic one, which nobody sets. A wall clock that is set meanwhile moves the few frames that
// were stamped before and read after. One thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "capture/source/wall_clock.h"

namespace chokepoint::capture::source {

enum class TimeScale { Wall, Monotonic };

inline std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

class Stamps {
 public:
  explicit Stamps(TimeScale scale) : is_monotonic_(scale == TimeScale::Monotonic) { look(); }

  // Before frames are read: how far the clocks are apart.
  void look() {
    if (is_monotonic_) {
      const std::int64_t apart = monotonic_ns() - wall_ns();
      // Two readings are never at one moment: what is less than that is no news.
      shift_ns_ = std::llabs(apart - shift_ns_) > kNoise ? apart : shift_ns_;
    }
  }
  // Added to the kernel's stamps.
  std::int64_t shift_ns() const { return shift_ns_; }
  std::int64_t now() const { return is_monotonic_ ? monotonic_ns() : wall_ns(); }

 private:
  static constexpr std::int64_t kNoise = 20'000;
  bool is_monotonic_;
  std::int64_t shift_ns_ = 0;
};

}  // namespace chokepoint::capture::source
