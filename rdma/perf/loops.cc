#include "rdma/perf/loops.h"

#include <algorithm>

namespace chokepoint::rdma::perf {

void Meter::begin(std::int64_t now, std::uint64_t messages) {
  begun_ = true;
  first_ = last_ = interval_start_ = now;
  first_messages_ = messages_ = interval_messages_ = messages;
  peak_ = 0;
}

void Meter::sample(std::int64_t now, std::uint64_t messages) {
  if (messages == messages_) {
    return;
  }
  messages_ = messages;
  last_ = now;
  const std::int64_t took = now - interval_start_;
  const std::uint64_t came = messages - interval_messages_;
  if (took < kMinInterval || came < min_interval_messages_) {
    return;
  }
  peak_ = std::max(peak_, static_cast<double>(came) / static_cast<double>(took));
  interval_start_ = now;
  interval_messages_ = messages;
}

void Meter::fill(Outcome& outcome, std::uint32_t message_bytes) const {
  outcome.duration_ns = last_ - first_;
  if (outcome.duration_ns <= 0) {
    return;
  }
  const double rate =
      static_cast<double>(messages_ - first_messages_) / static_cast<double>(outcome.duration_ns);
  const double bits = 8.0 * message_bytes;
  outcome.messages_per_s = rate * 1e9;
  outcome.average_mbps = rate * bits * 1e3;
  outcome.peak_mbps = std::max(peak_, rate) * bits * 1e3;
}

}  // namespace chokepoint::rdma::perf
