// The work of one rank: opens its backend, then carries out orders until the last one. The same for
// every rank, however it was started. Calls of the backend block; RankThread runs work() on a
// thread of its own, so that its caller can stop waiting.
#pragma once

#include <cstdint>
#include <functional>

#include "base/host/settings.h"
#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

struct Job {
  RankPosition position = {};
  OpenBackend open = {};
  BackendOptions options = {};
  std::uint64_t memory_bytes = 0;                 // limit for its buffers; 0: none
  std::function<host::Settings()> settings = {};  // of this host; empty: another rank reports them
};

using OnFailure = std::function<void(const Error&)>;

// Returns after the order to end. An error is this rank's own, or one that the group reported;
// `on_failure` gets it before the backend is closed, which may wait for ranks that wait for this
// one.
Result<> work(const Job& job, Group& group, const OnFailure& on_failure = {});

}  // namespace chokepoint::probe::collective
