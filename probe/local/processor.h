// What the processors of this host compute at this moment: first one thread by itself, then one
// thread pinned to each processor that this process may use, all at once. Each walks a chain of
// multiplications in which every step needs the one before, so that the pace is that of the clock
// and of the share of time that the thread gets, and not that of caches or vector units.
//
//   a slow clock       fewer steps a second of the processor's time
//   other programs     less of the time: the kernel counts what the thread ran
//   a quota            the same, on all processors together
//
// What others do for a moment does not count: of each thread's time the best fifth does.
//
// One thread, and those that compute.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::probe::processor {

struct Pace {
  std::optional<int> processor = {};  // nothing: the kernel chose
  double million_steps_per_s = 0;     // of wall time, in the fifth of it that went best
  double got_percent = 0;             // of the whole time, on a processor
};

struct Plan {
  std::chrono::nanoseconds time = std::chrono::seconds(1);  // of each of the two parts
  std::function<bool()> stopped = [] { return false; };     // any thread
};

struct Outcome {
  Pace alone = {};
  std::vector<Pace> together = {};  // by processor
  bool interrupted = false;

  double total_million_steps_per_s() const;
  // Of the processor that gave the least of its time.
  double least_got_percent() const;
};

// Fails where no thread can be started.
Result<Outcome> measure(const Plan& plan);

}  // namespace chokepoint::probe::processor
