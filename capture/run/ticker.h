// A thread that calls a function repeatedly, at times that the function returns. Late calls are not
// made up for. stop() waits for the call in progress.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/sys/clock.h"

namespace chokepoint::capture::run {

class Ticker {
 public:
  // Returns the monotonic time of the next call.
  using Tick = std::function<std::int64_t()>;

  // The clock outlives it. `name`: of the thread, at most 15 letters.
  Ticker(std::string name, const sys::Clock& clock, Tick tick)
      : name_(std::move(name)), clock_(clock), tick_(std::move(tick)), thread_([this] { run(); }) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() { stop(); }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    stopping_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  // Between two calls, whatever the tick returns.
  static constexpr std::int64_t kMinPauseNs = 1'000'000;

  void run() {
    pthread_setname_np(pthread_self(), name_.c_str());
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      lock.unlock();
      const std::int64_t next_ns = tick_();
      lock.lock();
      const std::int64_t pause_ns = std::max(next_ns - clock_.monotonic_ns(), kMinPauseNs);
      stopping_.wait_for(lock, std::chrono::nanoseconds(pause_ns), [this] { return is_stopping_; });
    }
  }

  std::string name_;
  const sys::Clock& clock_;
  Tick tick_;
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace chokepoint::capture::run
