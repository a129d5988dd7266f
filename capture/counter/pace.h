// When a sampler is due: at its interval, and more seldom where it costs more than its share of a
// core, so that watching costs the same on a host of 256 cores or 3,000 threads. A tick that comes
// late is not caught up on. All keep to one grid, so that few ticks serve many. A value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace chokepoint::capture::counter {

class Pace {
 public:
  Pace(std::int64_t interval_ns, double share) : interval_ns_(interval_ns), share_(share) {}

  std::int64_t due_ns() const { return due_ns_; }
  bool is_due(std::int64_t now_ns) const { return now_ns >= due_ns_; }

  void done(std::int64_t now_ns, std::int64_t cost_ns) {
    constexpr double kNewest = 0.25;
    cost_ns_ += (static_cast<double>(cost_ns) - cost_ns_) * kNewest;
    const auto wanted = static_cast<std::int64_t>(cost_ns_ / share_);
    const std::int64_t intervals =
        std::max<std::int64_t>(1, (wanted + interval_ns_ - 1) / interval_ns_);
    due_ns_ = (now_ns / interval_ns_ + intervals) * interval_ns_;
  }

 private:
  std::int64_t interval_ns_;
  double share_;  // of a core
  double cost_ns_ = 0;
  std::int64_t due_ns_ = 0;
};

}  // namespace chokepoint::capture::counter
