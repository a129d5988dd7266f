#include "preflight/agent/floor.h"

#include <fmt/format.h>

namespace chokepoint::preflight {

Floor::Place::~Place() {
  if (floor_ == nullptr) {
    return;
  }
  const std::lock_guard lock(floor_->mutex_);
  floor_->holder_.reset();
  floor_->free_.notify_one();
}

Result<Floor::Place> Floor::take(const std::string& who, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (!free_.wait_for(lock, patience, [&] { return !holder_; })) {
    return fail(ErrorKind::Busy, "preflight", "",
                fmt::format("the preflight of {} is on", *holder_),
                "wait until it is over, or end it there");
  }
  holder_ = who;
  return Place(*this);
}

}  // namespace chokepoint::preflight
