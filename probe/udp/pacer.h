// When the next packets of a paced stream are due: a function of progress and now. The sleep is
// outside, and so is the clock. Packets leave in batches of a fixed size, which is 1 unless the
// rate is so high that a system call a packet would not keep up.
//
// Whoever is kept from sending (descheduled, a full queue) catches up, but never by a burst: until
// the backlog is gone batches follow each other at kCatchUp times the rate at most. A backlog of
// more than kMostBacklog is given up and counted, so that a sender that cannot keep up at all does
// not collect debts. One thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace chokepoint::probe::udp {

// The least number of packets a batch needs so that batches leave no more often than each 100 µs.
std::uint32_t batch_for(double packets_per_second, std::uint32_t most);

class Pacer {
 public:
  static constexpr double kCatchUp = 1.25;
  static constexpr std::chrono::nanoseconds kMostBacklog = std::chrono::milliseconds(100);

  Pacer(double packets_per_second, std::uint32_t batch, std::int64_t start_ns);

  std::uint32_t batch() const { return batch_; }
  // A batch, or nothing.
  std::uint32_t due(std::int64_t now_ns) const { return now_ns >= next_ns() ? batch_ : 0; }
  std::int64_t next_ns() const;
  void sent(std::uint32_t packets, std::int64_t now_ns);
  // Packets that were due and were given up.
  std::uint64_t skipped() const { return skipped_; }

 private:
  double backlog(std::int64_t now_ns) const;

  double gap_ns_;  // from packet to packet
  std::uint32_t batch_;
  std::int64_t origin_ns_;
  double sent_ = 0;  // since the origin
  std::int64_t not_before_ns_;
  std::uint64_t skipped_ = 0;
};

}  // namespace chokepoint::probe::udp
