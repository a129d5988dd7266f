#include "scripts/train/trainer/step_clock.h"

#include <chrono>
#include <ctime>
#include <thread>

namespace chokepoint::trainer {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

// Processor time: where somebody else has the processor, it takes longer, as real computing does.
void spin(std::int64_t duration_ns) {
  const auto until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + duration_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

std::int64_t nanoseconds(double milliseconds) { return std::int64_t(milliseconds * 1e6); }

}  // namespace

std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

StepClock::StepClock(const Settings& settings) : settings_(settings) {}

void StepClock::begin() {
  current_ = {.start_ns = now_ns()};
  communication_ns_ = 0;
}

void StepClock::end() {
  current_.end_ns = now_ns();
  current_.communication_ns = communication_ns_;
  steps_.push_back(current_);
}

void StepClock::compute(double share) {
  const auto began = now_ns();
  const auto duration = nanoseconds(settings_.compute_ms * share);
  if (settings_.spin) {
    spin(duration);
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(duration));
  }
  current_.compute_ns += now_ns() - began;
}

void StepClock::be_late() {
  if (settings_.late_rank != settings_.rank) {
    return;
  }
  const auto began = now_ns();
  std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds(settings_.late_ms)));
  current_.late_ns += now_ns() - began;
}

}  // namespace chokepoint::trainer
