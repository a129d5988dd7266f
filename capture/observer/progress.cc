#include "capture/observer/progress.h"

#include <algorithm>

#include "base/math/units.h"

namespace chokepoint::capture::observer {
namespace {

constexpr std::size_t kMaxDrops = 4096;

}  // namespace

double Progress::seconds() const {
  return static_cast<double>(last_ns - first_ns) / math::kNsPerSecond;
}

void CaptureProgress::take(const source::Batch& batch) {
  std::uint64_t bytes = 0;
  for (const packet::Frame& frame : batch.frames) {
    bytes += frame.frame_bytes - packet::made_up_bytes(frame.link_type);
  }
  const std::lock_guard lock(mutex_);
  for (const source::Drop& drop : batch.drops) {
    keep(drop);
  }
  if (batch.frames.empty()) {
    return;
  }
  if (progress_.frames == 0) {
    progress_.first_ns = batch.frames.front().time_ns;
  }
  // A clock that was set back does not make the capture shorter.
  progress_.last_ns = std::max(progress_.last_ns, batch.frames.back().time_ns);
  progress_.frames += batch.frames.size();
  progress_.frame_bytes += bytes;
}

void CaptureProgress::take(const std::vector<source::Interface>& interfaces) {
  // Only this thread changes them.
  if (interfaces.size() != interfaces_.size()) {
    const std::lock_guard lock(mutex_);
    interfaces_ = interfaces;
  }
}

Progress CaptureProgress::now() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

std::vector<source::Drop> CaptureProgress::drops() const {
  const std::lock_guard lock(mutex_);
  return drops_;
}

std::vector<source::Interface> CaptureProgress::interfaces() const {
  const std::lock_guard lock(mutex_);
  return interfaces_;
}

std::string CaptureProgress::interface_name(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  return index < interfaces_.size() ? interfaces_[index].name : std::string();
}

void CaptureProgress::keep(const source::Drop& drop) {
  progress_.dropped_by_kernel += drop.by_kernel;
  progress_.dropped_by_interface += drop.by_interface;
  if (drops_.size() < kMaxDrops) {
    drops_.push_back(drop);
    return;
  }
  drops_.back().by_kernel += drop.by_kernel;
  drops_.back().by_interface += drop.by_interface;
}

}  // namespace chokepoint::capture::observer
