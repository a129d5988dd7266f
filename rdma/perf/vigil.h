// Asks for attention every few milliseconds, and remembers what it wants. One thread.
#pragma once

#include <optional>

#include "rdma/perf/monotonic.h"
#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {

class StopPoller {
 public:
  explicit StopPoller(Attention& attention) : attention_(attention) {}

  // Whether to go on; an error ends the test. Once told to end, it stays so.
  Result<bool> at(std::int64_t now) {
    if (now < next_) {
      return !stopped();
    }
    next_ = now + kEvery;
    const auto go_on = attention_.go_on();
    if (go_on && !*go_on && !stopped()) {
      stopped_at_ = now;
    }
    return go_on ? Result<bool>(!stopped()) : go_on;
  }

  // For loops whose answers come so soon that they never wait: every so many of them. Whether this
  // is one that has to ask.
  static bool due(std::uint64_t number) { return number % kUnasked == 0; }

  bool stopped() const { return stopped_at_ != kNever; }
  // What was asked for before the end may still come, but not for ever.
  bool waited_long(std::int64_t now) const { return stopped() && now - stopped_at_ > kLeftover; }

 private:
  static constexpr std::int64_t kEvery = 4 * kMillisecond;
  static constexpr std::int64_t kLeftover = 1000 * kMillisecond;
  static constexpr std::uint64_t kUnasked = 1 << 14;

  Attention& attention_;
  std::int64_t next_ = 0;
  std::int64_t stopped_at_ = kNever;
};

}  // namespace chokepoint::rdma::perf
