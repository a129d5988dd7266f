// From the first post to the last completion: average, and the fastest stretch in between. Fed
// every fraction of a millisecond. One thread.
#pragma once

#include <cstdint>

#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {

class Meter {
 public:
  // `at_once`: how many messages are heard of at a time.
  explicit Meter(std::uint64_t at_once = 1) : least_(kIntervalTimes * at_once) {}

  void begin(std::int64_t now, std::uint64_t messages = 0);
  // So many messages by now.
  void sample(std::int64_t now, std::uint64_t messages);
  bool begun() const { return begun_; }

  // When the last of them was seen to be there.
  std::int64_t last_ns() const { return last_; }
  void fill(Outcome& outcome, std::uint32_t message_bytes) const;

 private:
  // An interval is so long, and has heard of messages so often, that its ends do not matter.
  static constexpr std::int64_t kInterval = 10'000'000;
  static constexpr std::uint64_t kIntervalTimes = 16;

  std::uint64_t least_;
  bool begun_ = false;
  std::int64_t first_ = 0;
  std::uint64_t first_messages_ = 0;
  std::int64_t last_ = 0;
  std::uint64_t messages_ = 0;
  std::int64_t interval_start_ = 0;
  std::uint64_t interval_messages_ = 0;
  double peak_ = 0;  // messages a nanosecond
};

}  // namespace chokepoint::rdma::perf
