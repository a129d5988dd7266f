// What the packets of one stream in one run tell, as they arrive: counts, jitter, one-way delay,
// intervals. Knows no socket: it is fed what a socket gave, and believes none of it. One thread;
// adding a message neither allocates (but for a new interval) nor asks for the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/math/histogram.h"
#include "probe/udp/clock_offset.h"
#include "probe/udp/jitter.h"
#include "probe/udp/packet.h"
#include "probe/udp/sequence.h"

namespace chokepoint::probe::udp {

struct FlowIdentity {
  std::uint64_t test = 0;
  std::uint16_t run = 0;
  std::uint8_t stream = 0;
};

// One message of recvmmsg: a packet, or with GRO several of `segment_bytes`, the last perhaps
// shorter.
struct Arrival {
  std::span<const std::byte> bytes;
  std::size_t segment_bytes = 0;
  std::int64_t arrived_ns = 0;
  // Packets the kernel had dropped for want of room in this socket's queue when this one came.
  std::uint32_t queue_drops = 0;
};

struct FlowInterval {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t missing = 0;  // gaps that opened in it and were not filled within it
  std::optional<double> jitter_ms = {};
};

class FlowMeter {
 public:
  // `sender` is the sender's clock less the receiver's: without it there is no one-way delay.
  FlowMeter(const FlowIdentity& identity, std::int64_t interval_ns,
            const std::optional<ClockOffset>& sender);

  // The socket has a history: drops counted before this run are not this run's.
  void begin(std::uint32_t queue_drops) { queue_drops_ = queue_drops; }
  void add(const Arrival& arrival);
  // Closes the last interval, and takes the kernel's last count of drops.
  void finish(std::uint32_t queue_drops);

  const SequenceTracker& sequence() const { return sequence_; }
  std::uint64_t bytes() const { return bytes_; }  // of packets received, each once
  std::uint64_t foreign() const { return foreign_; }
  std::optional<double> jitter_ms() const { return jitter_.milliseconds(); }
  const std::vector<FlowInterval>& intervals() const { return intervals_; }
  std::int64_t first_ns() const { return first_ns_; }
  std::int64_t last_ns() const { return last_ns_; }
  // Received bytes a second between the first arrival and the last; nothing before there are two.
  std::optional<double> bytes_per_second() const;
  // Of what was sent and is lost, how much this host's own socket queue had no room for.
  std::uint64_t lost_in_queue(std::uint64_t sent) const;

  // Delays stand in it with `delay_bias_ns` added, so that none is negative while the clocks are
  // as well known as they are said to be.
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
