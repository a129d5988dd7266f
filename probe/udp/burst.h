// How evenly packets left, against the rate that was asked for. One thread.
#pragma once

#include <cstdint>

namespace chokepoint::probe::udp {

struct Burst {
  // The most that left back to back, in one system call.
  std::uint32_t batch_packets = 0;
  // What a token bucket of the rate asked for would have to hold to let everything through
  // undelayed: a batch when the pacing is perfect, more after a stall that was caught up with.
  double bucket_packets = 0;
  // The longest time in which each batch followed the one before it in less than 9/10 of the time
  // the rate gives it.
  std::int64_t hurried_ns = 0;
};

class BurstMeter {
 public:
  explicit BurstMeter(double packets_per_second) : packets_per_ns_(packets_per_second * 1e-9) {}
  void add(std::uint32_t packets, std::int64_t now_ns);
  const Burst& burst() const { return burst_; }

 private:
  double packets_per_ns_;
  double level_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t hurried_since_ns_ = 0;
  Burst burst_ = {};
};

}  // namespace chokepoint::probe::udp
