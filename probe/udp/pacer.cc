#include "probe/udp/pacer.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::probe::udp {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
constexpr double kLeastBatchGapNs = 100'000;

}  // namespace

std::uint32_t batch_for(double packets_per_second, std::uint32_t most) {
  const double in_a_gap = packets_per_second * kLeastBatchGapNs / kNanosecondsPerSecond;
  return static_cast<std::uint32_t>(
      std::clamp(std::floor(in_a_gap), 1.0, static_cast<double>(std::max(most, 1U))));
}

Pacer::Pacer(double packets_per_second, std::uint32_t batch, std::int64_t start_ns)
    : gap_ns_(kNanosecondsPerSecond / packets_per_second),
      batch_(batch),
      origin_ns_(start_ns),
      not_before_ns_(start_ns) {}

std::int64_t Pacer::next_ns() const {
  const double last_of_batch = sent_ + static_cast<double>(batch_ - 1);
  const std::int64_t scheduled =
      origin_ns_ + static_cast<std::int64_t>(std::ceil(last_of_batch * gap_ns_));
  return std::max(scheduled, not_before_ns_);
}

double Pacer::backlog(std::int64_t now_ns) const {
  return static_cast<double>(now_ns - origin_ns_) / gap_ns_ - sent_;
}

void Pacer::sent(std::uint32_t packets, std::int64_t now_ns) {
  sent_ += packets;
  const double most = std::max(static_cast<double>(kMostBacklog.count()) / gap_ns_, 1.0);
  if (const double excess = std::floor(backlog(now_ns) - most); excess > 0) {
    sent_ += excess;
    skipped_ += static_cast<std::uint64_t>(excess);
  }
  not_before_ns_ = now_ns + static_cast<std::int64_t>(packets * gap_ns_ / kCatchUp);
}

}  // namespace chokepoint::probe::udp
