// Work that one thread asks of another, which does it between two batches: how the live table looks
// at an analyser's flows without a lock that every packet would pay for. Any one thread asks at a
// time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace chokepoint::capture::observer {

class ThreadTasks {
 public:
  using Work = std::function<void()>;

  // Waits until it is done. False where the other thread did not come by in time: then it will not
  // be done any more.
  bool ask(const Work& work, std::chrono::milliseconds patience);

  // The thread that is asked; next to free where nothing is.
  void run() {
    if (is_asked_.load(std::memory_order_relaxed)) {
      run_asked();
    }
  }

 private:
  void run_asked();

  std::atomic<bool> is_asked_ = false;
  std::mutex mutex_;  // work_
  std::condition_variable done_;
  const Work* work_ = nullptr;
};

}  // namespace chokepoint::capture::observer
