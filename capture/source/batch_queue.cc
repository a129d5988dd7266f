#include "capture/source/batch_queue.h"

#include <chrono>
#include <utility>

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kMostBatches = 16;
constexpr std::chrono::milliseconds kArrivalPatience{100};

}  // namespace

void Arrivals::tell() {
  {
    const std::scoped_lock hold(lock_);
    new_ = true;
  }
  told_.notify_one();
}

void Arrivals::wait() {
  std::unique_lock hold(lock_);
  told_.wait_for(hold, kArrivalPatience, [&] { return new_; });
  new_ = false;
}

bool BatchQueue::fill(Batch& batch, std::int64_t complete_until) {
  {
    std::unique_lock hold(lock_);
    place_.wait(hold, [&] { return closed_ || filled_.size() < kMostBatches; });
    if (closed_) {
      return false;
    }
    complete_until_ = complete_until;
    if (!batch.frames.empty() || !batch.drops.empty()) {
      filled_.push_back(std::move(batch));
      batch = {};
      if (!empty_.empty()) {
        batch = std::move(empty_.back());
        empty_.pop_back();
      }
    }
  }
  arrivals_.tell();
  return true;
}

void BatchQueue::end(Result<Progress> how) {
  {
    const std::scoped_lock hold(lock_);
    ended_ = std::move(how);
  }
  arrivals_.tell();
}

Result<Progress> BatchQueue::take(Batch& batch) {
  const std::scoped_lock hold(lock_);
  if (filled_.empty()) {
    taken_until_ = complete_until_;
    return ended_.value_or(Progress::More);
  }
  empty_.push_back(std::move(batch));
  batch = std::move(filled_.front());
  filled_.pop_front();
  place_.notify_one();
  // What still lies in the queue may be earlier than what is complete behind it.
  taken_until_ = batch.frames.empty() ? taken_until_ : batch.frames.back().time_ns;
  return Progress::More;
}

void BatchQueue::close() {
  {
    const std::scoped_lock hold(lock_);
    closed_ = true;
  }
  place_.notify_one();
}

}  // namespace chokepoint::capture::source
