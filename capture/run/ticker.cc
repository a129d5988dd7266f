#include "capture/run/ticker.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace chokepoint::capture::run {
namespace {

// However much somebody would like to be called.
constexpr std::int64_t kLeastPauseNs = 1'000'000;

}  // namespace

Ticker::Ticker(std::string name, const sys::Clock& clock, Tick tick)
    : name_(std::move(name)), clock_(clock), tick_(std::move(tick)), thread_([this] { run(); }) {}

void Ticker::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Ticker::run() {
  pthread_setname_np(pthread_self(), name_.c_str());
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    lock.unlock();
    const std::int64_t next_ns = tick_();
    lock.lock();
    const std::int64_t pause_ns = std::max(next_ns - clock_.monotonic_ns(), kLeastPauseNs);
    stopping_.wait_for(lock, std::chrono::nanoseconds(pause_ns), [this] { return is_stopping_; });
  }
}

}  // namespace chokepoint::capture::run
