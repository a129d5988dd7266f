#include "preflight/agent/floor.h"

#include <fmt/format.h>

namespace chokepoint::preflight {

CoordinatorLock::Place::~Place() {
  if (lock_ == nullptr) {
    return;
  }
  const std::lock_guard lock(lock_->mutex_);
  lock_->holder_.reset();
  lock_->free_.notify_one();
}

bool CoordinatorLock::has(const std::string& preflight) const {
  return holder_ && !preflight.empty() && holder_->preflight == preflight;
}

Result<CoordinatorLock::Place> CoordinatorLock::take(const Coordinator& coordinator,
                                                     std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  free_.wait_for(lock, patience, [&] { return !holder_ || has(coordinator.preflight); });
  if (has(coordinator.preflight)) {
    return fail(ErrorKind::Busy, "preflight", "",
                fmt::format("this host takes part already, as {}", holder_->called),
                "name each host once");
  }
  if (holder_) {
    return fail(ErrorKind::Busy, "preflight", "",
                fmt::format("the preflight of {} is on", holder_->who),
                "wait until it is over, or end it there");
  }
  holder_ = coordinator;
  return Place(*this);
}

}  // namespace chokepoint::preflight
