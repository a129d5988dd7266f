// How each measurement goes: how much is copied, for how long, and who may end it. Handed through
// all of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace chokepoint::probe::pcie {

struct Pace {
  std::uint64_t bytes = std::uint64_t{512} << 20;                  // of a copy
  std::chrono::nanoseconds time = std::chrono::milliseconds(500);  // of a measurement
  std::function<bool()> stopped = [] { return false; };
  std::atomic<bool>* copying = nullptr;  // true while copies are under way; may be null
};

}  // namespace chokepoint::probe::pcie
