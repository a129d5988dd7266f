// Sends one stream of packets for a time, at a rate or as fast as it goes, and reports what was
// really sent; with the parts that the senders of foreign protocols use, too (probe/peer): the
// Pacer and the Sleeper. send_stream() runs on a thread of its own, which it keeps busy at high
// rates. The socket is connected, blocking with a short timeout (set_blocking), and stays the
// caller's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/udp/flow_meter.h"

namespace chokepoint::probe::udp {

// How evenly packets were sent, compared with the requested rate.
struct Burst {
  // The most sent back to back, in one system call.
  std::uint32_t batch_packets = 0;
  // The size of a token bucket of the requested rate that would pass everything undelayed: one
  // batch with perfect pacing, more after a stall that was caught up with.
  double bucket_packets = 0;
  // The longest period in which each batch followed the one before it in less than 9/10 of the
  // interval that the rate requires.
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

struct SendPlan {
  FlowIdentity identity = {};
  std::size_t packet_bytes = 0;
  double bits_per_second = 0;  // of payload; 0: as fast as it goes
  std::chrono::nanoseconds duration = {};
};

// Other threads may read it meanwhile.
struct SendProgress {
  std::atomic<std::uint64_t> packets = 0;
};

struct SendTally {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint32_t last_batch = 0;
  std::uint64_t skipped = 0;       // never sent, after a stall
  std::uint64_t dropped_here = 0;  // by the local interface's queue; counted as sent
  std::int64_t blocked_ns = 0;     // while the local interface's queue was full
  bool segmented = false;
  std::optional<Burst> burst = {};  // where there was a requested rate
};

// nullopt before two batches.
std::optional<double> bytes_per_second(const SendTally& tally);

// `error`: why no more packets could be sent. The tally has what was sent before.
struct SendOutcome {
  SendTally tally = {};
  std::optional<Error> error = {};
};

SendOutcome send_stream(int fd, const SendPlan& plan, const std::atomic<bool>& stop,
                        SendProgress& progress);

// The smallest batch with which at most one batch leaves per 100 µs, but no more than `most`.
std::uint32_t batch_for(double packets_per_second, std::uint32_t most);

// The timing of a paced stream: when the next packets are due, from the progress and the time.
// Packets leave in batches of a fixed size, which is 1 unless the rate is too high for one system
// call per packet.
//
// A sender that was kept from sending (descheduled, a full queue) catches up without a burst: until
// the backlog is gone, batches follow each other at kCatchUp times the rate at most. Packets of a
// backlog beyond kMaxBacklog are skipped and counted, since a sender that cannot keep up would
// never get rid of it.
class Pacer {
 public:
  static constexpr double kCatchUp = 1.25;
  static constexpr std::chrono::nanoseconds kMaxBacklog = std::chrono::milliseconds(100);

  Pacer(double packets_per_second, std::uint32_t batch, std::int64_t start_ns);

  std::uint32_t batch() const { return batch_; }
  // A batch, or 0.
  std::uint32_t due(std::int64_t now_ns) const { return now_ns >= next_ns() ? batch_ : 0; }
  std::int64_t next_ns() const;
  void sent(std::uint32_t packets, std::int64_t now_ns);
  // Packets that were due and will not be sent.
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

// Sleeps until a time of the monotonic clock, as precisely as the host allows. For a long wait it
// uses the kernel's timer, set earlier by as much as the timer is late on average; for a wait too
// short for that it busy-waits, which costs a core and on a busy host makes the scheduler delay the
// thread. To be used only by the thread that made it: the constructor switches off the timer slack
// of that thread and raises its priority where this process may, above all others where it sleeps
// most of the time and so takes little CPU from them, otherwise slightly.
class Sleeper {
 public:
  // `usual_ns`: the usual time between two wake-ups; 0: unknown.
  explicit Sleeper(std::int64_t usual_ns = 0);
  std::int64_t now_ns() const { return clock_.monotonic_ns(); }
  // Returns the time when it woke up, which may be earlier: it sleeps 50 ms at most, so that the
  // caller can check whether to stop.
  std::int64_t until(std::int64_t when_ns);

 private:
  void learn(std::int64_t late_ns);

  sys::SystemClock clock_;
  std::int64_t late_ns_ = 0;  // the moving average
};

}  // namespace chokepoint::probe::udp
