// Batches between the thread of one interface and the one that merges: bounded, the used ones go
// back to be filled again. A lock a batch. When it is full the filling thread waits, and the
// kernel's ring takes what comes.
//
//   Filling: fill(), end().   Merging: take().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/sys/error.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

// Wakes the merging thread when any queue has something new.
class Arrivals {
 public:
  void tell();
  // Until told since the last call, at most 100 ms.
  void wait();

 private:
  std::mutex lock_;
  std::condition_variable told_;
  bool new_ = false;
};

class BatchQueue {
 public:
  explicit BatchQueue(Arrivals& arrivals) : arrivals_(arrivals) {}

  // Exchanges a filled batch for an empty one; waits for a place. An empty batch takes none: only
  // `complete_until` is told. False once closed.
  bool fill(Batch& batch, std::int64_t complete_until);
  void end(Result<Progress> how);

  // Exchanges a used batch for a filled one.
  Result<Progress> take(Batch& batch);
  std::int64_t complete_until() const { return taken_until_; }
  // Lets the filling thread go, however full the queue is.
  void close();

 private:
  Arrivals& arrivals_;
  std::mutex lock_;
  std::condition_variable place_;
  std::deque<Batch> filled_;
  std::vector<Batch> empty_;
  std::int64_t complete_until_ = INT64_MIN;
  std::int64_t taken_until_ = INT64_MIN;  // the merging thread's
  std::optional<Result<Progress>> ended_;
  bool closed_ = false;
};

}  // namespace chokepoint::capture::source
