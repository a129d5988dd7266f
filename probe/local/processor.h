// What the processors of this host compute at this moment: first one thread by itself, then one
// thread pinned to each processor that this process may use, all at once. Each walks a chain of
// multiplications in which every step needs the one before, so that the pace is that of the clock
// and of the share of time that the thread gets, and not that of caches or vector units.
//
//   a slow clock       fewer steps a second of the processor's time
//   other programs     less of the time: the kernel counts what the thread ran
//   a quota            the same, on all processors together
//
// Short disturbances by other programs do not count: the best fifth of each thread's time is used.
//
// One thread, and those that compute.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "base/documents/probe_processor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::processor {

using documents::ProcessorPace;

struct Plan {
  std::chrono::nanoseconds time = std::chrono::seconds(1);  // of each of the two parts
  std::function<bool()> stopped = [] { return false; };     // any thread
};

// Of a thread alone and of those together: what follows from them is set.
documents::ProbeProcessor outcome_of(const ProcessorPace& alone,
                                     std::vector<ProcessorPace> together);

// Fails where no thread can be started.
Result<documents::ProbeProcessor> measure(const Plan& plan);

}  // namespace chokepoint::probe::processor
