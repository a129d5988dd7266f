#include "probe/udp/burst.h"

#include <algorithm>

namespace chokepoint::probe::udp {

void BurstMeter::add(std::uint32_t packets, std::int64_t now_ns) {
  constexpr double kHurried = 0.9;
  if (burst_.batch_packets == 0) {
    last_ns_ = now_ns;
    hurried_since_ns_ = now_ns;
  }
  const double leaked = static_cast<double>(now_ns - last_ns_) * packets_per_ns_;
  level_ = std::max(level_ - leaked, 0.0) + packets;
  if (leaked >= kHurried * packets) {
    hurried_since_ns_ = now_ns;
  }
  last_ns_ = now_ns;
  burst_.batch_packets = std::max(burst_.batch_packets, packets);
  burst_.bucket_packets = std::max(burst_.bucket_packets, level_);
  burst_.hurried_ns = std::max(burst_.hurried_ns, now_ns - hurried_since_ns_);
}

}  // namespace chokepoint::probe::udp
