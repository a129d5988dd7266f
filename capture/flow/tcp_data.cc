#include <algorithm>
#include <cstdint>
#include <limits>

#include "capture/flow/budget.h"
#include "capture/flow/flow.h"
#include "capture/flow/loss.h"
#include "capture/flow/sent_log.h"
#include "capture/flow/tcp.h"

namespace chokepoint::capture::flow {
namespace {

// A packet of `half`, and what is derived from it once.
struct Segment {
  const packet::Packet& packet;
  Range range{};              // SYN and FIN take a position each
  std::uint32_t on_wire = 1;  // how many segments the wire carried
  Position payload_begin = 0;
};

// What caused a retransmission: see cause_of().
enum class Cause : std::uint8_t { Fast, Timeout, Probe, Unknown };

// No sender's timer is shorter in practice: Linux has 200 ms or more, Windows 300 ms.
constexpr std::int64_t kShortestTimerNs = 190'000'000;

// How long an answer takes from the tap to the sender, plus the sender's reaction back to the tap.
std::int64_t tap_to_sender_ns(const Half& other) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Spread* spread : {other.rtt.get(), other.timestamp_rtt.get()}) {
    least = spread != nullptr ? std::min(least, spread->min()) : least;
  }
  return least == std::numeric_limits<std::uint64_t>::max() ? 0 : static_cast<std::int64_t>(least);
}

// A tail loss probe is only sent if both sides use SACK.
bool may_probe(const Half& half, const Half& other) {
  const auto may_sack = [](const Opening& opening) {
    return !opening.is_seen || opening.is_cut || opening.allows_sack;
  };
  return may_sack(half.opening) && may_sack(other.opening);
}

// The receiver reported that something at or before the range's end is missing.
bool is_reported(const Half& half, Range range) {
  if (half.loss && half.loss->sacked.highest() > range.begin) {
    return true;
  }
  return half.duplicate_acks > 0 && range.begin <= half.acked;
}

// The range lies below half.next; `time_ns` is now. The first rule that applies:
//
//   recovery from a timeout, up to what was sent then              timeout
//   silence as long as the shortest timer                          timeout
//   the receiver had reported: SACK above it, or duplicate ACKs    fast
//   recovery from such a report, up to what was sent then          fast
//   the other direction is not seen                                unknown
//   the last segment, and SACK was agreed on                       probe
//   else                                                           unknown
Cause cause_of(const Half& half, const Half& other, Range range, std::int64_t time_ns) {
  if (half.is_in_timeout && range.begin < half.recovery_point) {
    return Cause::Timeout;
  }
  const std::int64_t silence = time_ns - std::max(half.peer_sent_ns, half.sent_ns);
  if (silence >= kShortestTimerNs + tap_to_sender_ns(other)) {
    return Cause::Timeout;
  }
  if (is_reported(half, range) || (half.is_in_recovery && range.begin < half.recovery_point)) {
    return Cause::Fast;
  }
  const bool is_last = range.end == half.next;
  return half.is_answered && is_last && may_probe(half, other) ? Cause::Probe : Cause::Unknown;
}

// A larger step of the IP ID is not caused by this flow alone.
constexpr std::uint16_t kMaxIdStep = 1'024;
constexpr std::int8_t kMaxIdTrust = 32;
// How long the network delays a packet at most, if the round trip is not known.
constexpr std::int64_t kUsualReorderingNs = 3'000'000;

void follow_ids(Half& half, std::uint16_t id) {
  if (id == 0) {
    return;
  }
  const auto step = static_cast<std::uint16_t>(id - half.last_ip_id);
  const bool is_rising = step > 0 && step < kMaxIdStep;
  half.id_trust = static_cast<std::int8_t>(
      std::clamp(half.id_trust + (is_rising ? 1 : -4), -int{kMaxIdTrust}, int{kMaxIdTrust}));
  half.last_ip_id = id;
}

Hole hole_before(const Half& half, const Segment& segment) {
  const packet::Packet& packet = segment.packet;
  return {.range = {half.next, segment.range.begin},
          .opened_ns = packet.time_ns,
          .timestamp = packet.tcp.timestamp,
          .ip_id = id_of(packet),
          .has_timestamp = packet.tcp.has(packet::kHasTimestamps)};
}

std::int64_t shortest_path(const Half& half, const Half& other) {
  if (!half.rtt && !other.rtt) {
    return kUsualReorderingNs;
  }
  const auto least = [](const Half& each) -> std::int64_t {
    return each.rtt ? static_cast<std::int64_t>(each.rtt->min()) : 0;
  };
  return least(half) + least(other);
}

// Whether the segment that fills the hole was sent after the packet behind the hole.
bool was_sent_later(const Half& half, const Half& other, const Hole& hole, const Segment& segment) {
  const packet::Packet& packet = segment.packet;
  const std::uint16_t id = id_of(packet);
  if (half.id_trust > 0 && hole.ip_id != 0 && id != 0) {
    return static_cast<std::int16_t>(id - hole.ip_id) > 0;
  }
  if (hole.has_timestamp && packet.tcp.has(packet::kHasTimestamps) &&
      packet.tcp.timestamp != hole.timestamp) {
    return static_cast<std::int32_t>(packet.tcp.timestamp - hole.timestamp) > 0;
  }
  const std::int64_t waited = packet.time_ns - hole.opened_ns;
  const std::int64_t path = shortest_path(half, other);
  return waited >= (is_reported(half, segment.range) ? path / 2 : 2 * path + kUsualReorderingNs);
}

// The same packet as before, by its IP ID; without IDs, one that comes again sooner than its sender
// could have learned of a loss.
bool is_copy(Half& half, const Half& other, const Segment& segment) {
  const packet::Packet& packet = segment.packet;
  if (half.copies.saw(packet)) {
    return true;
  }
  const Sent* before = half.sent ? half.sent->find(segment.range.begin) : nullptr;
  if (before == nullptr) {
    return false;
  }
  const std::uint16_t id = id_of(packet);
  if (id != 0 && before->ip_id != 0) {
    return before->ip_id == id && before->begin() == segment.range.begin;
  }
  return before->begin() == segment.range.begin && before->end == segment.range.end &&
         before->checksum == packet.tcp.checksum && !is_reported(half, segment.range) &&
         packet.time_ns - before->time_ns < shortest_path(half, other) / 2;
}

void count(Retransmissions& by, Cause cause, std::uint32_t segments) {
  switch (cause) {
    case Cause::Fast:
      by.fast += segments;
      return;
    case Cause::Timeout:
      by.timeout += segments;
      return;
    case Cause::Probe:
      by.probe += segments;
      return;
    case Cause::Unknown:
      by.unknown += segments;
      return;
  }
}

std::uint32_t payload_in(const Segment& segment, Range range) {
  const Position begin = std::max(range.begin, segment.payload_begin);
  const Position end =
      std::min<Position>(range.end, segment.payload_begin + segment.packet.payload_bytes);
  return end > begin ? static_cast<std::uint32_t>(end - begin) : 0;
}

void enter_recovery(Half& half, Cause cause) {
  const bool begins_timeout = cause == Cause::Timeout && !half.is_in_timeout;
  const bool begins_recovery = cause == Cause::Fast && !half.is_in_timeout && !half.is_in_recovery;
  if (begins_timeout || begins_recovery) {
    half.is_in_timeout = begins_timeout;
    half.is_in_recovery = begins_recovery;
    half.recovery_point = half.next;
  }
}

void take_retransmission(Half& half, const Half& other, const Segment& segment, Range again,
                         bool is_first_here, const Keeping& keeping) {
  const std::int64_t now = segment.packet.time_ns;
  const Cause cause = cause_of(half, other, again, now);
  enter_recovery(half, cause);
  const std::uint32_t bytes = payload_in(segment, again);
  std::uint32_t segments = segment.on_wire;
  if (again.end < segment.range.end && segments > 1) {
    segments =
        std::max<std::uint32_t>(1, (bytes + half.segment.bytes() - 1) / half.segment.bytes());
  }
  half.tally.retransmitted_packets += segments;
  half.tally.retransmitted_bytes += bytes;
  half.tally.lost_before_tap += is_first_here ? segments : 0;
  count(half.tally.retransmissions, cause, segments);
  const bool had_already = half.is_answered && again.end <= half.acked;
  half.tally.retransmissions.spurious += had_already ? segments : 0;
  made(half.loss, keeping.budget)
      .resent({.range = again, .segments = segments, .is_spurious = had_already});
  half.retransmitted_until = std::max(half.retransmitted_until, again.end);
  half.sent_ns = now;
  if (keeping.series) {
    Bin& bin = made(half.series, keeping.budget).at(now);
    bin.retransmitted_packets += segments;
    bin.retransmitted_bytes += bytes;
  }
}

// The part below the highest byte sent.
Taken take_old(Half& half, const Half& other, const Segment& segment, Range old,
               const Keeping& keeping) {
  if (old.end == segment.range.end && is_copy(half, other, segment)) {
    ++half.tally.duplicates;
    return {.is_copy = true};
  }
  const Hole* hole = half.loss ? half.loss->holes.find(old) : nullptr;
  if (hole == nullptr) {
    take_retransmission(half, other, segment, old, false, keeping);
    return {};
  }
  const bool is_again = was_sent_later(half, other, *hole, segment);
  const Position filled = half.loss->holes.fill(old);
  if (is_again) {
    take_retransmission(half, other, segment, old, true, keeping);
  } else {
    half.tally.out_of_order += segment.on_wire;
    if (keeping.series) {
      made(half.series, keeping.budget).at(segment.packet.time_ns).out_of_order += segment.on_wire;
    }
  }
  return {.fresh = filled};
}

// The part [begin, end of the segment), beyond all that was sent before.
void take_new(Half& half, const packet::Packet& packet, Range range, const Keeping& keeping) {
  const std::uint16_t id = id_of(packet);
  half.next = range.end;
  half.sent_ns = packet.time_ns;
  made(half.sent, keeping.budget)
      .add({.end = range.end,
            .time_ns = packet.time_ns,
            .length = static_cast<std::uint32_t>(range.bytes()),
            .ip_id = id,
            .checksum = packet.tcp.checksum},
           half.is_answered);
  follow_ids(half, id);
}

// Not what was to come next.
Taken take_out_of_turn(Half& half, const Half& other, const Segment& segment,
                       const Keeping& keeping) {
  Taken taken;
  const Range old{segment.range.begin, std::min(segment.range.end, half.next)};
  if (old.bytes() > 0) {
    taken = take_old(half, other, segment, old, keeping);
  }
  const Range fresh{std::max(segment.range.begin, half.next), segment.range.end};
  if (fresh.bytes() > 0) {
    if (fresh.begin > half.next) {
      made(half.loss, keeping.budget).holes.open(hole_before(half, segment));
    }
    taken.fresh += fresh.bytes();
    take_new(half, segment.packet, fresh, keeping);
  }
  return taken;
}

}  // namespace

Taken take_data(Half& half, const Half& other, const packet::Packet& packet, Range range,
                const Keeping& keeping) {
  if (range.begin == half.next) [[likely]] {
    take_new(half, packet, range, keeping);
    return {.fresh = range.bytes()};
  }
  return take_out_of_turn(half, other,
                          {.packet = packet,
                           .range = range,
                           .on_wire = packet::on_the_wire(packet, half.segment.bytes()).segments,
                           .payload_begin = payload_begin(packet, range)},
                          keeping);
}

}  // namespace chokepoint::capture::flow
