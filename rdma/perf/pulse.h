// Tells a loop that must not read the clock each time round when to do so: every fraction of a
// millisecond, however long a round takes. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rdma/perf/monotonic.h"

namespace chokepoint::rdma::perf {

class Pulse {
 public:
  bool due() { return --left_ == 0; }
  void hurry() { left_ = 1; }

  // Now; and when to ask again.
  std::int64_t read() {
    const std::int64_t now = monotonic_ns();
    if (now - last_ < kShort) {
      rounds_ = std::min(rounds_ * 2, kMostRounds);
    } else if (now - last_ > kLong) {
      rounds_ =
          static_cast<std::uint32_t>(std::max<std::int64_t>(rounds_ * kLong / (now - last_), 1));
    }
    last_ = now;
    left_ = rounds_;
    return now;
  }

 private:
  static constexpr std::int64_t kShort = kMillisecond / 4;
  static constexpr std::int64_t kLong = kMillisecond;
  static constexpr std::uint32_t kMostRounds = 1 << 16;

  std::uint32_t left_ = 1;
  std::uint32_t rounds_ = 1;
  std::int64_t last_ = 0;
};

}  // namespace chokepoint::rdma::perf
