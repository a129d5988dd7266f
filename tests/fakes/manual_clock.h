// A clock that a test moves by hand; threads may read it meanwhile.
#pragma once

#include <atomic>

#include "base/sys/clock.h"

namespace chokepoint::fakes {

class ManualClock final : public sys::Clock {
 public:
  std::int64_t monotonic_ns() const override { return monotonic; }
  std::int64_t wall_ns() const override { return wall; }
  void advance(std::int64_t nanoseconds) {
    monotonic += nanoseconds;
    wall += nanoseconds;
  }

  std::atomic<std::int64_t> monotonic = 1'000'000'000;
  std::atomic<std::int64_t> wall = 1'795'000'000'000'000'000;
};

}  // namespace chokepoint::fakes
