#include "probe/udp/flow_meter.h"

#include <algorithm>

#include "base/math/units.h"

namespace chokepoint::probe::udp {
namespace {

// A pause of the sender yields empty intervals; this bounds them where the clock jumps.
constexpr std::size_t kMaxIntervals = 100'000;

}  // namespace

bool SequenceTracker::test(std::uint64_t sequence) const {
  return (bits_[sequence % kWindow / kBits] >> (sequence % kBits) & 1U) != 0;
}

void SequenceTracker::set(std::uint64_t sequence) {
  bits_[sequence % kWindow / kBits] |= std::uint64_t{1} << (sequence % kBits);
}

void SequenceTracker::forget(std::uint64_t from, std::uint64_t to) {
  if (to - from >= kWindow) {
    bits_.fill(0);
    return;
  }
  for (std::uint64_t sequence = from; sequence != to; ++sequence) {
    bits_[sequence % kWindow / kBits] &= ~(std::uint64_t{1} << (sequence % kBits));
  }
}

bool SequenceTracker::add(std::uint64_t sequence) {
  // The largest number has no next one; no sender gets there.
  if (sequence < next_ || sequence == ~std::uint64_t{0}) {
    return add_late(sequence);
  }
  forget(next_, sequence);
  set(sequence);
  next_ = sequence + 1;
  ++counts_.received;
  return true;
}

bool SequenceTracker::add_late(std::uint64_t sequence) {
  if (sequence >= next_ || next_ - sequence > kWindow) {
    ++counts_.ancient;
    return false;
  }
  if (test(sequence)) {
    ++counts_.duplicates;
    return false;
  }
  set(sequence);
  ++counts_.received;
  ++counts_.out_of_order;
  return true;
}

FlowMeter::FlowMeter(const FlowIdentity& identity, std::int64_t interval_ns,
                     const std::optional<ClockOffset>& sender)
    : identity_(identity), interval_ns_(interval_ns), sender_(sender) {
  constexpr std::size_t kUsualIntervals = 64;
  intervals_.reserve(kUsualIntervals);
}

void FlowMeter::add(const Arrival& arrival) {
  roll_interval(arrival.arrived_ns);
  const std::size_t step =
      arrival.segment_bytes == 0 ? arrival.bytes.size() : arrival.segment_bytes;
  bool any = false;
  for (std::size_t at = 0; at < arrival.bytes.size(); at += step) {
    any |=
        add_packet(arrival.bytes.subspan(at, std::min(step, arrival.bytes.size() - at)), arrival);
  }
  if (any && last_ns_ == first_ns_) {
    bytes_at_first_ = bytes_;
  }
}

bool FlowMeter::add_packet(std::span<const std::byte> packet, const Arrival& arrival) {
  const std::optional<PacketHead> head = read_head(packet);
  if (!head || head->kind != PacketKind::Data || head->test != identity_.test ||
      head->run != identity_.run || head->stream != identity_.stream) {
    ++foreign_;
    return false;
  }
  note_gap(head->sequence, arrival.queue_drops);
  if (first_ns_ == 0) {
    first_ns_ = arrival.arrived_ns;
    interval_end_ns_ = arrival.arrived_ns + interval_ns_;
  }
  last_ns_ = std::max(last_ns_, arrival.arrived_ns);
  jitter_.add(head->sent_ns, arrival.arrived_ns);
  if (!sequence_.add(head->sequence)) {
    return false;
  }
  note_delay(head->sent_ns, arrival.arrived_ns);
  bytes_ += packet.size();
  ++open_.packets;
  open_.bytes += packet.size();
  return true;
}

// The kernel's count of drops is attached to the packet after them: what is missing right before
// that packet was dropped by the queue, what is missing elsewhere was not. The count's size is not
// used, since with GRO it counts super-frames.
void FlowMeter::note_gap(std::uint64_t first_sequence, std::uint32_t queue_drops) {
  const bool dropped = queue_drops != queue_drops_;
  queue_drops_ = queue_drops;
  if (dropped && first_sequence > sequence_.next_expected()) {
    gaps_with_drops_ += first_sequence - sequence_.next_expected();
  }
}

void FlowMeter::note_delay(std::int64_t sent_ns, std::int64_t arrived_ns) {
  if (!sender_) {
    return;
  }
  const std::int64_t sent_here_ns = difference(sent_ns, sender_->offset_ns);
  const std::int64_t biased = difference(arrived_ns, difference(sent_here_ns, delay_bias_ns()));
  delays_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(biased, 0)));
}

void FlowMeter::roll_interval(std::int64_t arrived_ns) {
  while (first_ns_ != 0 && arrived_ns >= interval_end_ns_ && intervals_.size() < kMaxIntervals) {
    close_interval();
    interval_end_ns_ += interval_ns_;
  }
}

void FlowMeter::close_interval() {
  // Late packets of the interval before may fill more gaps than opened in this one.
  const std::uint64_t missing = sequence_.missing();
  open_.missing = missing > missing_before_ ? missing - missing_before_ : 0;
  missing_before_ = missing;
  open_.jitter_ms = jitter_.milliseconds();
  intervals_.push_back(open_);
  open_ = {};
}

void FlowMeter::finish(std::uint32_t queue_drops) {
  if (open_.packets > 0) {
    close_interval();
  }
  dropped_at_end_ = queue_drops != queue_drops_;
}

std::optional<double> FlowMeter::bytes_per_second() const {
  if (last_ns_ <= first_ns_) {
    return std::nullopt;
  }
  return static_cast<double>(bytes_ - bytes_at_first_) * math::kNsPerSecond /
         static_cast<double>(last_ns_ - first_ns_);
}

std::uint64_t FlowMeter::lost_in_queue(std::uint64_t sent) const {
  const std::uint64_t after_last =
      dropped_at_end_ && sent > sequence_.next_expected() ? sent - sequence_.next_expected() : 0;
  return std::min(gaps_with_drops_ + after_last, sequence_.lost(sent));
}

}  // namespace chokepoint::probe::udp
