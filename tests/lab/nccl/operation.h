// An all-reduce as the threads of a rank hand it on: asked for by the program's thread, begun and
// ended by the GPU's, moved by the proxy's.
#pragma once

#include <time.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace chokepoint::lab {

inline std::uint64_t now_ns() {
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(at.tv_nsec);
}

// A GPU has a clock of its own, that begins elsewhere and runs faster.
inline std::uint64_t gpu_ns() {
  constexpr std::uint64_t kBegin = 1'700'000'000'000'000'000;
  constexpr std::uint64_t kFaster = 30'000;  // one part of so many
  const std::uint64_t now = now_ns();
  return kBegin + now + now / kFaster;
}

struct Operation {
  std::uint64_t bytes = 0;
  void* event = nullptr;
  void* kernel = nullptr;
  std::uint64_t gpu_begin_ns = 0;  // 0: its kernel has not begun
  std::uint64_t gpu_end_ns = 0;
  bool is_ready = false;  // what it reduces is computed
  bool is_moved = false;  // all of its data
};

// Who waits for what another thread does with an operation.
class Board {
 public:
  template <class F>
  void set(F&& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }
  template <class F>
  void wait(F&& holds) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, holds);
  }
  template <class F>
  auto look(F&& read) {
    const std::lock_guard lock(mutex_);
    return read();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

using Operations = std::deque<std::shared_ptr<Operation>>;

}  // namespace chokepoint::lab
