#include "capture/observer/errands.h"

namespace chokepoint::capture::observer {

bool ThreadTasks::ask(const Work& work, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  is_asked_ = true;
  const bool is_done = done_.wait_for(lock, patience, [&] { return work_ == nullptr; });
  work_ = nullptr;
  is_asked_ = false;
  return is_done;
}

void ThreadTasks::run_asked() {
  const std::lock_guard lock(mutex_);
  if (work_ != nullptr) {
    (*work_)();
    work_ = nullptr;
    is_asked_ = false;
    done_.notify_one();
  }
}

}  // namespace chokepoint::capture::observer
