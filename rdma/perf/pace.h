// How many messages a limited rate allows by now, of each queue pair: what was not used is made up
// for, but no more than a few tens of milliseconds' worth. A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace chokepoint::rdma::perf {

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

  // Of all since begin(), of which `sent` went.
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
  static constexpr double kMadeUpFor = 50e6;

  double messages_per_ns_;
  double allowed_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace chokepoint::rdma::perf
