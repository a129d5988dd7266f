// What the loops of bandwidth and latency tests share: the clock, when to read it, when to ask
// whether to go on, and the meter; and the entry points of these loops, which test.cc calls.
//
//   test.cc ─► stream, receive_all   bandwidth.cc   active side, passive side of a send
//           ─► run_latency           latency.cc
//           ─► wait_for_end          test.cc        a passive side whose memory is used
//
// Everything here belongs to the one thread that runs the loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>

#include "rdma/perf/plan.h"
#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {

class Verifier;

// Read without a virtual call, and not slewed by NTP.
inline std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kNever = INT64_MAX;

// Tells a loop that must not read the clock on every iteration when to do so: every fraction of a
// millisecond, however long an iteration takes.
class ClockThrottle {
 public:
  bool due() { return --left_ == 0; }
  void hurry() { left_ = 1; }

  // The time; also decides after how many iterations the next read is due.
  std::int64_t read() {
    const std::int64_t now = monotonic_ns();
    if (now - last_ < kShort) {
      iterations_ = std::min(iterations_ * 2, kMaxIterations);
    } else if (now - last_ > kLong) {
      iterations_ = static_cast<std::uint32_t>(
          std::max<std::int64_t>(iterations_ * kLong / (now - last_), 1));
    }
    last_ = now;
    left_ = iterations_;
    return now;
  }

 private:
  static constexpr std::int64_t kShort = kMillisecond / 4;
  static constexpr std::int64_t kLong = kMillisecond;
  static constexpr std::uint32_t kMaxIterations = 1 << 16;

  std::uint32_t left_ = 1;
  std::uint32_t iterations_ = 1;
  std::int64_t last_ = 0;
};

// Asks every few milliseconds whether to go on, and remembers a stop.
class StopPoller {
 public:
  explicit StopPoller(TestMonitor& monitor) : monitor_(monitor) {}

  // Whether to go on; an error ends the test. Once stopped, always false.
  Result<bool> go_on_at(std::int64_t now) {
    if (now < next_) {
      return !stopped();
    }
    next_ = now + kInterval;
    const auto go_on = monitor_.go_on();
    if (go_on && !*go_on && !stopped()) {
      stopped_at_ = now;
    }
    return go_on ? Result<bool>(!stopped()) : go_on;
  }

  // For loops whose answers come so soon that they never wait: whether iteration `number` has to
  // ask.
  static bool due(std::uint64_t number) { return number % kIterationsPerQuestion == 0; }

  bool stopped() const { return stopped_at_ != kNever; }
  // What was requested before the stop may still complete, within this time.
  bool waited_long(std::int64_t now) const {
    return stopped() && now - stopped_at_ > kMaxWaitAfterStop;
  }

 private:
  static constexpr std::int64_t kInterval = 4 * kMillisecond;
  static constexpr std::int64_t kMaxWaitAfterStop = 1000 * kMillisecond;
  static constexpr std::uint64_t kIterationsPerQuestion = 1 << 14;

  TestMonitor& monitor_;
  std::int64_t next_ = 0;
  std::int64_t stopped_at_ = kNever;
};

// Message rate from the first post to the last completion: average, and the fastest interval in
// between. Fed every fraction of a millisecond.
class Meter {
 public:
  // `messages_per_report`: how many messages one completion stands for.
  explicit Meter(std::uint64_t messages_per_report = 1)
      : min_interval_messages_(kIntervalReports * messages_per_report) {}

  void begin(std::int64_t now, std::uint64_t messages = 0);
  // `messages`: since the beginning.
  void sample(std::int64_t now, std::uint64_t messages);
  bool begun() const { return begun_; }

  // When the last message was seen.
  std::int64_t last_ns() const { return last_; }
  void fill(Outcome& outcome, std::uint32_t message_bytes) const;

 private:
  // An interval lasts so long, and has so many reports, that its ends do not matter.
  static constexpr std::int64_t kMinInterval = 10'000'000;  // ns
  static constexpr std::uint64_t kIntervalReports = 16;

  std::uint64_t min_interval_messages_;
  bool begun_ = false;
  std::int64_t first_ = 0;
  std::uint64_t first_messages_ = 0;
  std::int64_t last_ = 0;
  std::uint64_t messages_ = 0;
  std::int64_t interval_start_ = 0;
  std::uint64_t interval_messages_ = 0;
  double peak_ = 0;  // messages a nanosecond
};

// How many messages of each queue pair a limited rate allows by now: what was not used is made up
// for, but at most 50 ms' worth.
class Pace {
 public:
  Pace(std::optional<double> bits_per_s, std::uint32_t message_bytes, int queues)
      : messages_per_ns_(bits_per_s ? *bits_per_s / 8e9 / std::max(message_bytes, 1U) / queues
                                    : 0) {}

  bool limited() const { return messages_per_ns_ > 0; }

  void begin(std::int64_t now) {
    last_ = now;
    allowed_ = 1;
  }

  // Messages since begin(), of which `sent` were posted.
  std::uint64_t allowed(std::int64_t now, std::uint64_t sent) {
    if (!limited()) {
      return UINT64_MAX;
    }
    const double most = std::max(messages_per_ns_ * kMadeUpFor, 1.0);
    allowed_ += messages_per_ns_ * static_cast<double>(now - last_);
    allowed_ = std::min(allowed_, static_cast<double>(sent) + most);
    last_ = now;
    return static_cast<std::uint64_t>(allowed_);
  }

 private:
  static constexpr double kMadeUpFor = 50e6;  // ns

  double messages_per_ns_;
  double allowed_ = 0;
  std::int64_t last_ = 0;
};

// The active side of a bandwidth test. `verifier`: null without check.
Result<Outcome> stream(const Side& side, const Plan& plan, const Layout& layout,
                       Verifier* verifier);
// Its passive side where messages need a receive.
Result<Outcome> receive_all(const Side& side, const Plan& plan, const Layout& layout,
                            Verifier* verifier);

// Whether this plan's latency can be measured with this memory.
Result<> check_latency(const Side& side, const Plan& plan);
Result<Outcome> run_latency(const Side& side, const Plan& plan);

// The passive side whose memory is used: returns once the test is over.
Result<Outcome> wait_for_end(TestMonitor& monitor);

}  // namespace chokepoint::rdma::perf
