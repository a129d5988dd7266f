// TCP connections that fill the path while its latency is measured: one more per second, until the
// throughput does not grow any more or the limit is reached. Each is a TCP test of its own, with
// `share`, on its own control connection and its own thread; all end with the object.
//
//   start ─► (grows) ─► full() ─► stop() ─► result()
//
// Called from one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/sys/descriptor.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe::latency {

// Whether the throughput of a load has become stable, by the criterion of responsiveness tests: the
// standard deviation of the last four moving averages is at most 5 % of their mean. Fed with one
// value per interval.
class Stability {
 public:
  static constexpr std::size_t kAverages = 4;
  static constexpr double kWithin = 0.05;

  void add(double value);
  bool reached() const;

 private:
  std::deque<double> values_;
  std::deque<double> averages_;
};

// A control connection; `interrupt` ends the attempt.
using Connect = std::function<Result<control::Client>(int interrupt)>;

struct LoadPlan {
  tcp::Direction direction = tcp::Direction::Send;
  std::chrono::nanoseconds time = {};  // of each connection: longer than the load is needed
  int max_connections = 16;
  std::string congestion = {};
};

struct LoadResult {
  int connections = 0;
  bool stable = false;
  std::optional<double> throughput_mbps = {};  // of the last seconds
  std::vector<double> rtt_ms = {};             // of its connections, once the load was full
  std::optional<Error> error = {};             // of the first connection that failed
};

class Load {
 public:
  static Result<std::unique_ptr<Load>> start(Connect connect, const LoadPlan& plan,
                                             const sys::Root& root);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load();

  // True once the throughput is stable, the limit is reached, a connection failed, or the caller
  // has declared it.
  bool full() const { return full_; }
  void declare_full() { full_ = true; }
  void stop();
  LoadResult result();

 private:
  Load(Connect connect, const LoadPlan& plan, sys::Root root, sys::Descriptor stopped)
      : connect_(std::move(connect)),
        plan_(plan),
        root_(std::move(root)),
        stopped_(std::move(stopped)) {}

  void grow();
  void add_connection();
  void run_connection();
  void watch(const tcp::IntervalMeasure& interval);
  void fail_with(const Error& error);
  double take_rate(double seconds);

  Connect connect_;
  LoadPlan plan_;
  sys::Root root_;
  sys::Descriptor stopped_;  // an eventfd, readable once all shall end
  std::atomic<bool> full_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::uint64_t bytes_before_ = 0;
  Stability stability_;
  LoadResult result_;
  std::vector<std::thread> connections_;
  std::thread grower_;
};

}  // namespace chokepoint::probe::latency
