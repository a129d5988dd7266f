// Interarrival jitter as RFC 3550 6.4.1 has it: the smoothed difference between how far apart two
// packets arrived and how far apart they were sent. Packets that were handed to the kernel in one
// batch have one send time, and packets that the kernel hands over in one super-frame have one
// arrival time: neither tells anything of the network, and would only water the figure down. So a
// sample is what differs from the last one in both: the first packet of a batch. One thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "probe/udp/difference.h"

namespace chokepoint::probe::udp {

class Jitter {
 public:
  void add(std::int64_t sent_ns, std::int64_t arrived_ns) {
    if (samples_ > 0 && (sent_ns == sent_ns_ || arrived_ns == arrived_ns_)) {
      return;
    }
    if (samples_ > 0) {
      const auto apart = static_cast<double>(
          difference(difference(arrived_ns, arrived_ns_), difference(sent_ns, sent_ns_)));
      constexpr double kGain = 16;
      jitter_ns_ += (std::abs(apart) - jitter_ns_) / kGain;
    }
    sent_ns_ = sent_ns;
    arrived_ns_ = arrived_ns;
    ++samples_;
  }

  // Nothing before two samples.
  std::optional<double> milliseconds() const {
    constexpr double kNsPerMs = 1e6;
    return samples_ > 1 ? std::optional(jitter_ns_ / kNsPerMs) : std::nullopt;
  }

 private:
  double jitter_ns_ = 0;
  std::int64_t sent_ns_ = 0;
  std::int64_t arrived_ns_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace chokepoint::probe::udp
