// Asks readers of live interfaces to stop, and wakes those that wait. ask() may be called from any
// thread and from a signal handler.
#pragma once

#include <atomic>

#include "base/sys/descriptor.h"

namespace chokepoint::capture::source {

class StopFlag {
 public:
  StopFlag();

  void ask() noexcept;
  bool asked() const { return asked_.load(std::memory_order_acquire); }
  // Readable from then on.
  int descriptor() const { return descriptor_.get(); }

 private:
  sys::Descriptor descriptor_;
  std::atomic<bool> asked_ = false;
};

}  // namespace chokepoint::capture::source
