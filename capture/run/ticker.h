// A thread that does one thing again and again, whenever it wants to be called next. Late ticks
// come once, never in a bunch. stop() waits for the one that is going on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/sys/clock.h"

namespace chokepoint::capture::run {

class Ticker {
 public:
  // Gives the monotonic time of the next call.
  using Tick = std::function<std::int64_t()>;

  // The clock outlives it. `name`: of the thread, at most 15 letters.
  Ticker(std::string name, const sys::Clock& clock, Tick tick);
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() { stop(); }

  void stop();

 private:
  void run();

  std::string name_;
  const sys::Clock& clock_;
  Tick tick_;
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace chokepoint::capture::run
