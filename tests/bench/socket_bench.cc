// What watching a job's connections costs: CPU time of the watching thread, while they are busy and
// while they are idle, for more and more of them. Both ends are this process's and counted.
//
//   socket_bench [SECONDS]
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/record/opening.h"
#include "base/sys/clock.h"
#include "capture/socket/watcher.h"
#include "tests/capture/socket/socket_pair.h"

namespace chokepoint::capture::socket {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kTalkNs = 20'000'000;
constexpr rlim_t kDescriptors = 4'096;

struct Cost {
  double percent = 0;  // of a core
  double tick_us = 0;
};

class Crowd {
 public:
  Crowd(std::size_t connections, record::Writer& writer, const sys::Clock& clock)
      : clock_(clock),
        registry_(writer),
        watcher_(std::move(*Watcher::make({}, sys::Root(), clock, writer, registry_))),
        job_{{.pid = getpid(), .start_ticks = 1, .start_ns = clock.monotonic_ns()}} {
    for (std::size_t i = 0; i < connections; ++i) {
      pairs_.push_back(connect_over(listener_));
    }
  }

  Cost cost(bool are_busy, double seconds) {
    const auto end_ns = clock_.monotonic_ns() + static_cast<std::int64_t>(seconds * kSecondNs);
    const std::int64_t used_before_ns = used_ns_;
    std::int64_t ticks = 0;
    for (std::int64_t talk_ns = 0; clock_.monotonic_ns() < end_ns; ++ticks) {
      if (are_busy && clock_.monotonic_ns() >= talk_ns) {
        talk_all();
        talk_ns = clock_.monotonic_ns() + kTalkNs;
      }
      const std::int64_t next_ns = tick();
      sleep_until(are_busy ? std::min(next_ns, talk_ns) : next_ns);
    }
    const auto used_ns = static_cast<double>(used_ns_ - used_before_ns);
    return {.percent = 100 * used_ns / seconds / kSecondNs,
            .tick_us = used_ns / 1e3 / static_cast<double>(ticks)};
  }

 private:
  std::int64_t tick() {
    const std::int64_t before_ns = sys::thread_cpu_ns();
    const std::int64_t next_ns = watcher_->tick(job_);
    used_ns_ += sys::thread_cpu_ns() - before_ns;
    return next_ns;
  }
  void talk_all() const {
    for (const SocketPair& pair : pairs_) {
      carry(pair, 100);
    }
  }
  void sleep_until(std::int64_t at_ns) const {
    std::this_thread::sleep_for(std::chrono::nanoseconds(at_ns - clock_.monotonic_ns()));
  }

  const sys::Clock& clock_;
  socket::FlowRegistry registry_;
  std::unique_ptr<Watcher> watcher_;
  job::JobProcesses job_;
  const Listener listener_;
  std::vector<SocketPair> pairs_;
  std::int64_t used_ns_ = 0;
};

void measure(std::size_t connections, double seconds) {
  const sys::SystemClock clock;
  const record::PrivateFolder folder = std::move(*record::PrivateFolder::make());
  const auto writer = std::move(*record::Writer::open(
      {.folder = folder.path() / "run", .node = "bench", .role = "run"}, sys::Root(), clock));
  Crowd crowd(connections, *writer, clock);
  crowd.cost(true, 2);  // until all are known
  const Cost busy = crowd.cost(true, seconds);
  crowd.cost(false, 4);  // until they count as idle
  const Cost idle = crowd.cost(false, seconds);
  fmt::print(
      R"({{"sockets": {}, "busy_percent": {:.2f}, "busy_tick_us": {:.0f}, "idle_percent": {:.2f}, "idle_tick_us": {:.0f}}})"
      "\n",
      2 * connections, busy.percent, busy.tick_us, idle.percent, idle.tick_us);
}

}  // namespace
}  // namespace chokepoint::capture::socket

int main(int count, char** words) {
  const rlimit many{.rlim_cur = chokepoint::capture::socket::kDescriptors,
                    .rlim_max = chokepoint::capture::socket::kDescriptors};
  setrlimit(RLIMIT_NOFILE, &many);
  const double seconds = count > 1 ? std::strtod(words[1], nullptr) : 4;
  for (const std::size_t connections : {1UL, 10UL, 100UL, 1'000UL}) {
    chokepoint::capture::socket::measure(connections, seconds);
  }
}
