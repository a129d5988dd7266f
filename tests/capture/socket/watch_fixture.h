// A watcher over the running kernel, and the record that it fills.
#pragma once

#include <chrono>
#include <thread>

#include "base/sys/clock.h"
#include "capture/socket/watcher.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::capture::socket {

class WatchFixture : public record::RecordFolder {
 protected:
  void watch(const Options& options = {}) {
    writer_ = open_writer();
    registry_ = std::make_unique<FlowRegistry>(*writer_);
    auto made = Watcher::make(options, sys::Root(), time_, *writer_, *registry_);
    if (!made) {
      throw std::runtime_error(describe(made.error()));
    }
    watcher_ = std::move(*made);
  }

  // Ticks when the watcher wants it, for so long.
  void run_for(std::chrono::milliseconds span) {
    const std::int64_t end_ns = time_.monotonic_ns() + std::chrono::nanoseconds(span).count();
    while (time_.monotonic_ns() < end_ns) {
      sleep_until(std::min(watcher_->tick(processes_), end_ns));
    }
  }
  // Ticks until it is so, for a long time at most.
  template <class Holds>
  bool run_until(const Holds& holds) {
    const std::int64_t end_ns = time_.monotonic_ns() + 20'000'000'000;
    bool is_so = holds(watcher_->figures());
    while (!is_so && time_.monotonic_ns() < end_ns) {
      sleep_until(watcher_->tick(processes_));
      is_so = holds(watcher_->figures());
    }
    return is_so;
  }
  bool run_until_connections(std::size_t wanted) {
    return run_until([&](const Figures& now) { return now.connections == wanted; });
  }
  record::Reader finished() {
    watcher_->finish(processes_);
    EXPECT_EQ(writer_->close().dropped, 0U);
    return open_reader();
  }

  void sleep_until(std::int64_t at_ns) const {
    std::this_thread::sleep_for(std::chrono::nanoseconds(at_ns - time_.monotonic_ns()));
  }

  sys::SystemClock time_;
  std::unique_ptr<record::Writer> writer_;
  std::unique_ptr<FlowRegistry> registry_;
  std::unique_ptr<Watcher> watcher_;
  job::JobProcesses processes_;
};

}  // namespace chokepoint::capture::socket
