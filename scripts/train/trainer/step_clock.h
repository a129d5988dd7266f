// What a step's time goes to, as the trainer itself knows it: the truth that a diagnosis is held
// against. Times are CLOCK_MONOTONIC in nanoseconds, the clock a run record has, too.
//
//   begin ─ compute ─ late ─ compute ─ … ─ end        (this rank's thread)
//              └─ communicate ─ communicate ─┘        (the same one, or one beside it)
//
// communicate() may be called by another thread than the rest, but by one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "scripts/train/trainer/settings.h"

namespace chokepoint::trainer {

std::int64_t now_ns();

struct StepTruth {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t compute_ns = 0;        // wall time, also where the processor was somebody else's
  std::int64_t communication_ns = 0;  // overlapped or not
  std::int64_t late_ns = 0;
};

class StepClock {
 public:
  explicit StepClock(const Settings& settings);

  void begin();
  void end();

  // A share of the step's computing.
  void compute(double share);
  // Where this rank is the late one.
  void be_late();
  template <class Action>
  void communicate(Action&& action) {
    const auto began = now_ns();
    action();
    communication_ns_ += now_ns() - began;
  }

  const std::vector<StepTruth>& steps() const { return steps_; }

 private:
  Settings settings_;
  StepTruth current_{};
  std::atomic<std::int64_t> communication_ns_ = 0;
  std::vector<StepTruth> steps_;
};

}  // namespace chokepoint::trainer
