// A load on the path and the probes that measure how the path responds under it: the client's end
// of a responsiveness test. One more connection in each interval and each direction, until the
// goodput is stable; then probes, until their figure is stable, too, or the time is over.
//
//   client                                           server
//     Request {kind responsiveness, time_ns, streams, congestion} ─►
//     ◄───────────────────────────────────────── Ready {}
//     Attach, frames (frames.h) ═════════════════════►   load connections, numbers below `streams`
//     Hello, ◄Welcome, Attach, Get ═════════════════►◄═  foreign probes, numbers from there on
//     Stop {} ──────────────────────────────────────►
//     ◄──────────────────────────────────────── Result {}
//
// Several loads may follow each other in one test. A load has a thread for each of its connections
// and its foreign probes, and one that conducts them; all end with the object. It borrows the
// client, of which it uses nothing but attach and attach_anew. Called from one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/control/client.h"
#include "base/sys/descriptor.h"
#include "probe/latency/carrier.h"
#include "probe/latency/rpm.h"

namespace chokepoint::probe::latency {

struct LoadPlan {
  bool sends = true;
  bool receives = false;
  std::chrono::nanoseconds time = {};  // after half of it the probes begin in any case
  std::chrono::nanoseconds interval = std::chrono::seconds(1);
  int max_connections = 16;  // in each direction
  int first_stream = 0;      // the numbers of its connections begin here
  int first_probe = 0;       // and those of its foreign probes here
  std::string congestion = {};
};

struct LoadResult {
  int connections = 0;
  // Of the last four intervals.
  std::optional<double> send_mbps = {};
  std::optional<double> receive_mbps = {};
  Responsiveness responsiveness = {};
  std::optional<double> path_p90_ms = {};
  std::optional<Error> error = {};  // of the first connection that failed
};

class Load {
 public:
  static Result<std::unique_ptr<Load>> start(const control::Client& client, const LoadPlan& plan);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load();

  enum class Stage { Filling, Probing, Done };
  // Done: stable, or a connection failed.
  Stage stage() const { return stage_; }
  void stop();
  // After stop().
  LoadResult result();
  // The first number that no probe has had.
  int next_probe() const { return next_probe_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    std::unique_ptr<Carrier> carrier = {};  // once it is there
    bool sends = false;
    bool is_running = false;
    std::uint64_t counted = 0;  // bytes
  };

  Load(const control::Client& client, LoadPlan plan, sys::Descriptor stopped)
      : client_(client),
        plan_(std::move(plan)),
        stopped_(std::move(stopped)),
        next_stream_(plan_.first_stream),
        next_probe_(plan_.first_probe) {}

  void conduct();
  void run_connection(Connection& connection, int stream);
  Result<> carry(Connection& connection, int stream);
  void run_prober();
  Result<ForeignTime> probe_foreign(int stream) const;
  void fail_with(const Error& error);
  // Of the conductor, which holds the mutex.
  void grow();
  void add_connection(bool sends);
  void want_foreign();
  void ask_self();
  void look(double seconds);
  void look_at_goodput(double mbps);
  void look_at_responsiveness();
  ProbeTimes recent() const;
  void start_thread(const char* name, std::move_only_function<void()> body);

  const control::Client& client_;
  LoadPlan plan_;
  sys::Descriptor stopped_;  // an eventfd, readable once all shall end
  std::atomic<Stage> stage_ = Stage::Filling;
  std::atomic<bool> stopping_ = false;
  Clock::time_point begun_ = Clock::now();
  int next_stream_;
  std::atomic<int> next_probe_;

  std::mutex mutex_;
  std::condition_variable wake_;     // the conductor
  std::condition_variable probing_;  // the threads of foreign probes
  std::deque<Connection> connections_ = {};
  int probes_wanted_ = 0;
  int probers_ = 0;
  int busy_probers_ = 0;
  std::deque<ProbeTimes> intervals_ = {{}};  // the last of them is now
  std::deque<double> sent_mbps_ = {};
  std::deque<double> received_mbps_ = {};
  MovingAverage goodput_ = {};
  Saturation goodput_saturation_ = {};
  Saturation responsiveness_saturation_ = {};
  double probes_per_second_ = 0;
  LoadResult result_ = {};
  std::size_t failed_probes_ = 0;

  std::minstd_rand random_{std::random_device()()};
  std::vector<std::thread> threads_ = {};  // the conductor's alone, until it has ended
  std::thread conductor_ = {};
};

}  // namespace chokepoint::probe::latency
