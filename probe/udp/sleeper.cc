#include "probe/udp/sleeper.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <thread>

namespace chokepoint::probe::udp {
namespace {

// No timer can be trusted with less.
constexpr std::int64_t kShortestSleepNs = 20'000;
// A timer that is later than this was not: its thread was kept waiting.
constexpr std::int64_t kLatestNs = 60'000;
constexpr std::int64_t kLongestSleepNs = 50'000'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr int kBeforeOthers = -15;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

Sleeper::Sleeper(std::int64_t usual_ns) {
  prctl(PR_SET_TIMERSLACK, 1UL);
  // To Linux, priority is a thread's; 0 is the calling one.
  const sched_param lowest{.sched_priority = 1};
  if (usual_ns <= kShortestSleepNs ||
      sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) < 0) {
    setpriority(PRIO_PROCESS, 0, kBeforeOthers);
  }
}

// What is very late was kept from the CPU by somebody else, which says nothing of the timer.
void Sleeper::learn(std::int64_t late_ns) {
  constexpr std::int64_t kGain = 16;
  if (late_ns < kLatestNs) {
    late_ns_ += (late_ns - late_ns_) / kGain;
  }
}

std::int64_t Sleeper::until(std::int64_t when_ns) {
  std::int64_t now = now_ns();
  if (when_ns - now > kShortestSleepNs) {
    const std::int64_t wake = std::min(std::max(when_ns - late_ns_, now), now + kLongestSleepNs);
    const timespec at{.tv_sec = wake / kNsPerSecond, .tv_nsec = wake % kNsPerSecond};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    now = now_ns();
    learn(now - wake);
    if (when_ns - now > kShortestSleepNs) {
      return now;
    }
  }
  while (now < when_ns) {
    relax();
    now = now_ns();
  }
  return now;
}

}  // namespace chokepoint::probe::udp
