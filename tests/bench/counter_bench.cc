// What watching a host's counters costs: CPU time of the watching thread a second, with a job of so
// many processes of so many threads, most of which sleep.
//
//   counter_bench [PROCESSES THREADS SECONDS]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/record/opening.h"
#include "base/sys/clock.h"
#include "capture/counter/watcher.h"

namespace chokepoint::capture::counter {
namespace {

// One thread in ten works a little, ten times a second.
void work_seldom() {
  volatile std::uint64_t sum = 0;
  while (true) {
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      sum = sum + i;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

[[noreturn]] void be_a_rank(int threads) {
  for (int i = 1; i < threads; ++i) {
    std::thread(i % 10 == 0 ? work_seldom : [] {
      while (true) {
        pause();
      }
    }).detach();
  }
  while (true) {
    pause();
  }
}

job::JobProcesses start(int processes, int threads) {
  job::JobProcesses job;
  for (int i = 0; i < processes; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      be_a_rank(threads);
    }
    job.push_back({.pid = pid, .start_ticks = 1, .rank = {.rank = i}});
  }
  return job;
}

struct Cost {
  double milliseconds_a_second = 0;
  double worst_tick_ms = 0;
  int ticks = 0;
};

Cost watch(Watcher& watcher, const job::JobProcesses& job, const sys::Clock& clock,
           std::int64_t seconds) {
  Cost cost;
  const std::int64_t start_ns = clock.monotonic_ns();
  const std::int64_t before_ns = sys::thread_cpu_ns();
  while (clock.monotonic_ns() - start_ns < seconds * 1'000'000'000) {
    const std::int64_t tick_ns = clock.monotonic_ns();
    const std::int64_t next_ns = watcher.tick(job);
    const std::int64_t done_ns = clock.monotonic_ns();
    cost.worst_tick_ms = std::max(cost.worst_tick_ms, static_cast<double>(done_ns - tick_ns) / 1e6);
    ++cost.ticks;
    std::this_thread::sleep_for(std::chrono::nanoseconds(next_ns - done_ns));
  }
  const auto spent_ns = static_cast<double>(sys::thread_cpu_ns() - before_ns);
  cost.milliseconds_a_second =
      spent_ns * 1e3 / static_cast<double>(clock.monotonic_ns() - start_ns);
  return cost;
}

int run(int processes, int threads, int seconds) {
  const job::JobProcesses job = start(processes, threads);
  const auto folder = record::PrivateFolder::make();
  const sys::SystemClock clock;
  auto writer = record::Writer::open(
      {.folder = folder->path() / "run", .node = "n1", .role = "run"}, sys::Root(), clock);
  {
    const auto watcher = Watcher::make({}, sys::Root(), clock, **writer);
    const Cost cost = watch(*watcher, job, clock, seconds);
    watcher->finish(job);
    const record::WriterStatus status = (*writer)->close();
    fmt::print(R"({{"processes":{},"threads_each":{},"seconds":{},"cpu_ms_per_s":{:.2f},)"
               R"("longest_tick_ms":{:.1f},"ticks":{},"rows":{}}})"
               "\n",
               processes, threads, seconds, cost.milliseconds_a_second, cost.worst_tick_ms,
               cost.ticks, status.rows);
  }
  for (const job::JobProcess& process : job) {
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
  }
  return 0;
}

}  // namespace
}  // namespace chokepoint::capture::counter

int main(int count, char** words) {
  const auto number = [&](int i, int otherwise) {
    return i < count ? std::atoi(words[i]) : otherwise;  // NOLINT(cert-err34-c)
  };
  return chokepoint::capture::counter::run(number(1, 12), number(2, 20), number(3, 20));
}
