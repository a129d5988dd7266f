#include "probe/local/processor.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>
#include <thread>

#include "base/math/statistics.h"
#include "base/sys/thread.h"

namespace chokepoint::probe::processor {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at the clock: some ten microseconds.
constexpr std::uint64_t kStepsInTurn = 1 << 13;

double seconds_on_a_processor() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::uint64_t walked(std::uint64_t state) {
  constexpr std::uint64_t kFactor = 0xd6e8feb86659fd93;
  for (std::uint64_t step = 0; step < kStepsInTurn; ++step) {
    state = (state ^ (state >> 32)) * kFactor;
  }
  return state;
}

// How many million steps a second it walks until then.
double walk_until(Clock::time_point until, const Plan& plan) {
  const Clock::time_point began = Clock::now();
  Clock::time_point now = began;
  std::uint64_t steps = 0;
  std::atomic<std::uint64_t> state = 1;  // atomic, so that the chain is not optimised away
  while (now < until && !plan.stopped()) {
    state.store(walked(state.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    steps += kStepsInTurn;
    now = Clock::now();
  }
  const double took = std::chrono::duration<double>(now - began).count();
  return took > 0 ? static_cast<double>(steps) / 1e6 / took : 0;
}

ProcessorPace computed(const Plan& plan, Clock::time_point start) {
  constexpr int kParts = 5;
  std::this_thread::sleep_until(start);
  const double got_before = seconds_on_a_processor();
  const Clock::time_point began = Clock::now();
  ProcessorPace pace;
  for (int part = 1; part <= kParts; ++part) {
    const double walked_per_s = walk_until(start + part * plan.time / kParts, plan);
    pace.million_steps_per_s = std::max(pace.million_steps_per_s, walked_per_s);
  }
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  const double got = seconds_on_a_processor() - got_before;
  pace.got_percent = took > 0 ? std::clamp(100 * got / took, 0.0, 100.0) : 0;
  return pace;
}

std::vector<int> usable() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int number = 0; number < CPU_SETSIZE; ++number) {
      if (CPU_ISSET(number, &set)) {
        processors.push_back(number);
      }
    }
  }
  return processors;
}

void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  // A thread that cannot be pinned computes where the kernel puts it.
  std::ignore = sched_setaffinity(0, sizeof(set), &set);
}

class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { join(); }

  void join() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }
  void add(std::thread thread) { threads_.push_back(std::move(thread)); }

 private:
  std::vector<std::thread> threads_;
};

Result<std::vector<ProcessorPace>> together(const Plan& plan) {
  constexpr std::chrono::milliseconds kGather{20};  // until all threads are there
  const std::vector<int> processors = usable();
  std::vector<ProcessorPace> paces(processors.size());
  const Clock::time_point start = Clock::now() + kGather;
  Threads threads;
  for (std::size_t at = 0; at < processors.size(); ++at) {
    TRY(std::thread thread,
        sys::start_thread("compute", [&plan, start, number = processors[at], &pace = paces[at]] {
          pin_to(number);
          pace = computed(plan, start);
          pace.processor = number;
        }));
    threads.add(std::move(thread));
  }
  threads.join();
  return paces;
}

}  // namespace

documents::ProbeProcessor outcome_of(const ProcessorPace& alone,
                                     std::vector<ProcessorPace> together) {
  const auto least = std::ranges::min_element(together, {}, &ProcessorPace::got_percent);
  const double least_percent = least == together.end() ? alone.got_percent : least->got_percent;
  const double total = math::sum_by(together, &ProcessorPace::million_steps_per_s);
  return {.alone = alone,
          .processors = std::move(together),
          .total_million_steps_per_s = total,
          .least_got_percent = least_percent};
}

Result<documents::ProbeProcessor> measure(const Plan& plan) {
  const ProcessorPace alone = computed(plan, Clock::now());
  std::vector<ProcessorPace> paces;
  if (!plan.stopped()) {
    TRY(paces, together(plan));
  }
  documents::ProbeProcessor outcome = outcome_of(alone, std::move(paces));
  outcome.interrupted = plan.stopped();
  return outcome;
}

}  // namespace chokepoint::probe::processor
