// One rank at work: opens its backend, then does what it is told until it is told to end. The same
// for every rank, however it was started. Calls of the backend block, so work() has a thread of its
// own where somebody must be able to give up on it.
#pragma once

#include <cstdint>
#include <functional>

#include "probe/collective/backend.h"
#include "probe/collective/group.h"

namespace chokepoint::probe::collective {

struct Job {
  Place place = {};
  OpenBackend open = {};
  BackendOptions options = {};
  std::uint64_t memory_bytes = 0;  // what its buffers may take; 0: as much as asked for
};

using OnFailure = std::function<void(const Error&)>;

// Returns once it was told to end. An error is this rank's own, or what the group told it; it is
// told before the backend is closed, which may wait for ranks that wait for this one.
Result<> work(const Job& job, Group& group, const OnFailure& on_failure = {});

}  // namespace chokepoint::probe::collective
