// Measures the packets of one stream in one run, as they arrive: loss, reordering, duplication,
// jitter, one-way delay, intervals. It has no socket: the caller feeds what a socket received, none
// of which is trusted. Used by one thread; adding a message neither allocates (except for a new
// interval) nor reads a clock.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/math/histogram.h"
#include "base/math/units.h"
#include "probe/udp/exchange.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {

// Interarrival jitter by RFC 3550, 6.4.1: the smoothed difference between the distance of two
// packets at arrival and at sending. Packets sent in one batch have the same send time, and packets
// that the kernel merged into one super-frame the same arrival time: they say nothing about the
// network and would only reduce the value. So only a packet that differs in both from the last one
// counts.
class Jitter {
 public:
  void add(std::int64_t sent_ns, std::int64_t arrived_ns) {
    if (samples_ > 0 && (sent_ns == sent_ns_ || arrived_ns == arrived_ns_)) {
      return;
    }
    if (samples_ > 0) {
      const auto apart = static_cast<double>(
          difference(difference(arrived_ns, arrived_ns_), difference(sent_ns, sent_ns_)));
      constexpr double kJitterWeight = 16;  // RFC 3550, section 6.4.1
      jitter_ns_ += (std::abs(apart) - jitter_ns_) / kJitterWeight;
    }
    sent_ns_ = sent_ns;
    arrived_ns_ = arrived_ns;
    ++samples_;
  }

  // nullopt before two samples.
  std::optional<double> milliseconds() const {
    return samples_ > 1 ? std::optional(jitter_ns_ / math::kNsPerMs) : std::nullopt;
  }

 private:
  double jitter_ns_ = 0;
  std::int64_t sent_ns_ = 0;
  std::int64_t arrived_ns_ = 0;
  std::uint64_t samples_ = 0;
};

// `ancient`: more than the window behind the highest, so that it is unknown whether they are
// duplicates. They count as neither, so that `received` is certain.
struct SequenceCounts {
  std::uint64_t received = 0;      // numbers, each once
  std::uint64_t duplicates = 0;    // further copies of them
  std::uint64_t out_of_order = 0;  // after a higher one (RFC 4737: less than the next expected)
  std::uint64_t ancient = 0;
};

// Which packets of a numbered stream arrived: distinguishes loss, reordering and duplication in any
// mixture. A bitmap remembers the last kWindow numbers: constant memory, constant time per packet.
class SequenceTracker {
 public:
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 18;

  // True for a number that had not arrived before.
  bool add(std::uint64_t sequence);

  const SequenceCounts& counts() const { return counts_; }
  // The number after the highest that arrived.
  std::uint64_t next_expected() const { return next_; }
  // Numbers below the highest that have not arrived so far.
  std::uint64_t missing() const { return next_ - counts_.received; }
  std::uint64_t lost(std::uint64_t sent) const {
    return sent > counts_.received ? sent - counts_.received : 0;
  }

 private:
  static constexpr std::uint64_t kBits = 64;
  bool test(std::uint64_t sequence) const;
  void set(std::uint64_t sequence);
  void forget(std::uint64_t from, std::uint64_t to);
  bool add_late(std::uint64_t sequence);

  std::array<std::uint64_t, kWindow / kBits> bits_{};
  std::uint64_t next_ = 0;
  SequenceCounts counts_ = {};
};

// One message of recvmmsg: a packet, or with GRO several of `segment_bytes`, of which the last may
// be shorter.
struct Arrival {
  std::span<const std::byte> bytes;
  std::size_t segment_bytes = 0;
  std::int64_t arrived_ns = 0;
  // How many packets this socket's queue had dropped when this one arrived.
  std::uint32_t queue_drops = 0;
};

struct FlowInterval {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t missing = 0;  // from gaps that opened in the interval and were not filled in it
  std::optional<double> jitter_ms = {};
};

class FlowMeter {
 public:
  // `sender`: the sender's clock less the receiver's; without it there is no one-way delay.
  FlowMeter(const FlowIdentity& identity, std::int64_t interval_ns,
            const std::optional<ClockOffset>& sender);

  // `queue_drops`: the socket's count before this run.
  void begin(std::uint32_t queue_drops) { queue_drops_ = queue_drops; }
  void add(const Arrival& arrival);
  // Closes the last interval. `queue_drops`: the socket's count after this run.
  void finish(std::uint32_t queue_drops);

  const SequenceTracker& sequence() const { return sequence_; }
  std::uint64_t bytes() const { return bytes_; }  // of packets received, each once
  std::uint64_t foreign() const { return foreign_; }
  std::optional<double> jitter_ms() const { return jitter_.milliseconds(); }
  const std::vector<FlowInterval>& intervals() const { return intervals_; }
  std::int64_t first_ns() const { return first_ns_; }
  std::int64_t last_ns() const { return last_ns_; }
  // Between the first arrival and the last; nullopt before there are two.
  std::optional<double> bytes_per_second() const;
  // How many of the lost packets the queue of this host's socket dropped.
  std::uint64_t lost_in_queue(std::uint64_t sent) const;

  // Delays have `delay_bias_ns` added, so that none is negative as long as the clock offset's
  // uncertainty holds.
  const math::Histogram& delays() const { return delays_; }
  std::int64_t delay_bias_ns() const { return sender_ ? sender_->uncertainty_ns : 0; }

 private:
  bool add_packet(std::span<const std::byte> packet, const Arrival& arrival);
  void note_gap(std::uint64_t first_sequence, std::uint32_t queue_drops);
  void note_delay(std::int64_t sent_ns, std::int64_t arrived_ns);
  void roll_interval(std::int64_t arrived_ns);
  void close_interval();

  FlowIdentity identity_;
  std::int64_t interval_ns_;
  std::optional<ClockOffset> sender_;
  SequenceTracker sequence_;
  Jitter jitter_;
  math::Histogram delays_;
  std::vector<FlowInterval> intervals_;
  FlowInterval open_ = {};
  std::uint64_t missing_before_ = 0;
  std::int64_t interval_end_ns_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_at_first_ = 0;
  std::uint64_t foreign_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint32_t queue_drops_ = 0;
  std::uint64_t gaps_with_drops_ = 0;
  bool dropped_at_end_ = false;
};

}  // namespace chokepoint::probe::udp
