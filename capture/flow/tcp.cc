#include "capture/flow/tcp.h"

#include <algorithm>
#include <optional>

#include "capture/flow/budget.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {
namespace {

constexpr std::uint8_t kMaxWindowScale = 14;   // RFC 7323, 2.3
constexpr std::uint32_t kTimestampBytes = 12;  // the option, padded
// Data this far from the end of a closed connection belongs to another one.
constexpr Position kFarFromClosed = Position{1} << 24;

void take_opening(Half& half, Half& other, const packet::Packet& packet) {
  const packet::Tcp& tcp = packet.tcp;
  half.opening = {.is_seen = true,
                  .has_window_scale = tcp.has(packet::kHasWindowScale),
                  .allows_sack = tcp.has(packet::kHasSackPermitted),
                  .window_scale = std::min(tcp.window_scale, kMaxWindowScale),
                  .mss = tcp.has(packet::kHasMss) ? tcp.mss : std::uint16_t{0},
                  .has_timestamps = tcp.has(packet::kHasTimestamps),
                  .is_cut = tcp.has(packet::kHasCutOptions),
                  .is_answer = tcp.has(packet::kAck)};
  const Opening& peer = other.opening;
  if (!peer.is_seen || peer.mss == 0 || half.opening.mss == 0) {
    return;
  }
  const bool is_stamped = peer.has_timestamps && half.opening.has_timestamps;
  const std::uint32_t mss = std::min(peer.mss, half.opening.mss);
  const std::uint32_t options = is_stamped ? kTimestampBytes : 0;
  if (mss > options) {
    half.segment.agreed(mss - options);
    other.segment.agreed(mss - options);
  }
}

// A simultaneous open: each side answers the other's SYN with its own SYN again, which is no
// retransmission.
bool crosses(const Half& half, const packet::Packet& packet) {
  return packet.tcp.has(packet::kSyn) && packet.tcp.has(packet::kAck) && half.opening.is_seen &&
         !half.opening.is_answer;
}

void begin(Half& half, const packet::Packet& packet) {
  half.is_begun = true;
  half.origin = packet.tcp.sequence + (packet.tcp.has(packet::kSyn) ? 1 : 0);
  half.next = half.acked = packet.tcp.has(packet::kSyn) ? -1 : 0;
}

Range range_of(const Half& half, const packet::Packet& packet) {
  const packet::Tcp& tcp = packet.tcp;
  const Position begin = unwrap(tcp.sequence, half.origin, half.next);
  Position end = begin + packet.payload_bytes;
  if ((tcp.flags & (packet::kSyn | packet::kFin)) != 0) [[unlikely]] {
    end += (tcp.has(packet::kSyn) ? 1 : 0) + (tcp.has(packet::kFin) ? 1 : 0);
  }
  return {begin, end};
}

// Keep-alives and zero-window probes, which look like data that was acknowledged, or like one byte
// of new data. True if the packet is one of them, and so no data.
bool take_probe(Half& half, const packet::Packet& packet, Range range) {
  constexpr std::uint8_t kNoProbe = packet::kSyn | packet::kFin | packet::kRst;
  if (packet.payload_bytes > 1 || (packet.tcp.flags & kNoProbe) != 0) {
    return false;
  }
  const bool is_all_acknowledged =
      half.is_answered ? half.acked == half.next : packet.payload_bytes == 0;
  const bool is_behind = range.begin == half.next - 1 && half.has_sent && is_all_acknowledged;
  const bool is_ahead = range.begin == half.next && packet.payload_bytes == 1;
  if (half.is_peer_closed && (is_ahead || is_behind)) {
    ++half.tally.zero_window_probes;
    half.has_sent_probe |= is_ahead;
    return true;
  }
  if (is_behind) {
    ++half.tally.keep_alives;
    return true;
  }
  return false;
}

// A sender waits for more room if less than a segment is left.
bool fills_window(const Half& half) {
  const Position segment = std::max<std::uint32_t>(half.segment.bytes(), 1);
  return half.is_edge_known && half.outstanding() > 0 && half.next + segment > half.edge;
}

void settle(Half& half, std::int64_t now, const Keeping& keeping) {
  const bool is_full = fills_window(half);
  if (is_full && !half.is_full) {
    ++half.tally.window_full;
    if (keeping.series) {
      ++made(half.series, keeping.budget).at(now).window_full;
    }
  }
  half.is_full = is_full;
  const bool begins_to_be_busy = half.activity.move(
      now, {.is_busy = half.has_sent && (half.outstanding() > 0 || !half.is_answered),
            .is_window_limited = is_full,
            .is_window_closed = half.is_peer_closed,
            .is_unanswered = !half.is_answered});
  if (begins_to_be_busy) {
    ++half.tally.busy_periods;
  }
}

void note_in_flight(Half& half, std::int64_t now, const Keeping& keeping) {
  const std::uint64_t in_flight = half.in_flight();
  half.round_peak = std::max(half.round_peak, in_flight);
  half.tally.max_in_flight_bytes = std::max(half.tally.max_in_flight_bytes, in_flight);
  if (keeping.series && in_flight > 0) {
    Bin& bin = made(half.series, keeping.budget).at(now);
    const auto kept = static_cast<std::uint32_t>(std::min<std::uint64_t>(in_flight, kNoSample));
    bin.max_in_flight_bytes = std::max(bin.max_in_flight_bytes, kept);
  }
}

// After an acknowledgement of everything, the next echo comes when the application sends: no
// sample.
void stamp(Half& half, const Half& other, const packet::Packet& packet, const Keeping& keeping) {
  const bool is_answered_soon = packet.payload_bytes > 0 || other.outstanding() > 0;
  if (packet.tcp.has(packet::kHasTimestamps) && is_answered_soon && half.tally.frames > 0) {
    made(half.echoes, keeping.budget).sent(packet.tcp.timestamp, packet.time_ns);
  }
}

Placed take_stream(Half& half, Half& other, const packet::Packet& packet, Range range,
                   const Keeping& keeping) {
  if (!half.has_sent && !half.opening.is_seen) {
    half.next = std::max(half.next, range.begin);
  }
  half.has_sent = true;
  const Taken taken = take_data(half, other, packet, range, keeping);
  half.is_finished |= packet.tcp.has(packet::kFin);
  const auto fresh =
      static_cast<std::uint32_t>(std::min<Position>(taken.fresh, packet.payload_bytes));
  half.tally.unique_bytes += fresh;
  note_in_flight(half, packet.time_ns, keeping);
  return {.offset = payload_begin(packet, range),
          .new_from = packet.payload_bytes - fresh,
          .is_copy = taken.is_copy};
}

}  // namespace

bool is_of_another(const Flow& flow, unsigned direction, const packet::Packet& packet) {
  const Half& half = flow.halves[direction];
  if (!half.is_begun || packet.tcp.has(packet::kRst)) {
    return false;
  }
  if (packet.tcp.has(packet::kSyn)) {
    return packet.tcp.sequence + 1 != half.origin || !half.opening.is_seen;
  }
  const Position begin = unwrap(packet.tcp.sequence, half.origin, half.next);
  return packet.payload_bytes > 0 &&
         (begin > half.next + kFarFromClosed || begin < half.next - kFarFromClosed);
}

// Flattened: the rules for data and for answers are called with every packet, from here alone.
[[gnu::flatten]] Placed take_tcp(Flow& flow, Half& half, Half& other, const packet::Packet& packet,
                                 const Keeping& keeping) {
  const packet::Tcp& tcp = packet.tcp;
  if (tcp.has(packet::kRst)) {
    flow.is_reset = true;
    half.activity.move(packet.time_ns, {});
    other.activity.move(packet.time_ns, {});
    return {};
  }
  const bool is_crossing = crosses(half, packet);
  if (tcp.has(packet::kSyn) && !half.opening.is_seen) {
    take_opening(half, other, packet);
  }
  if (!half.is_begun) {
    begin(half, packet);
  }
  Placed placed{};
  const Range range = range_of(half, packet);
  if (is_crossing) {
    half.opening.is_answer = true;
  } else if (!take_probe(half, packet, range)) {
    if (range.bytes() > 0) {
      placed = take_stream(half, other, packet, range, keeping);
    } else if (half.copies.saw(packet)) {
      ++half.tally.duplicates;
      return {.offset = range.begin, .is_copy = true};
    }
  }
  if (tcp.has(packet::kAck) && take_answer(other, half, packet, keeping)) {
    settle(other, packet.time_ns, keeping);
  }
  stamp(half, other, packet, keeping);
  if (range.bytes() > 0) {
    settle(half, packet.time_ns, keeping);
  }
  return placed;
}

namespace {

// An acknowledgement of more than this beyond what was seen does not belong to this stream.
constexpr Position kMaxAhead = Position{1} << 30;

void begin_at(Half& half, std::uint32_t acknowledgement) {
  half.is_begun = true;
  half.origin = acknowledgement;
  half.next = 0;
  half.acked = 0;
}

bool carries_data(const packet::Packet& packet) {
  return packet.payload_bytes > 0 || (packet.tcp.flags & (packet::kSyn | packet::kFin)) != 0;
}

// Data was acknowledged that never passed here.
void account_for_missing(Half& half, Position acked) {
  if (half.loss) {
    half.tally.missing_bytes += static_cast<std::uint64_t>(half.loss->holes.give_up_below(acked));
  }
  if (acked > half.next) {
    const bool is_probe = half.has_sent_probe && acked == half.next + 1;
    half.tally.missing_bytes +=
        is_probe || !half.has_sent ? 0 : static_cast<std::uint64_t>(acked - half.next);
    half.next = acked;
  }
  half.has_sent_probe = false;
}

// As the sender's kernel does it: of the oldest segment newly acknowledged, unless it was
// retransmitted, or reported by SACK before.
void measure_round_trip(Half& half, Position acked, std::int64_t now, const Keeping& keeping) {
  if (!half.sent || half.sent->empty()) {
    return;
  }
  const Sent& oldest = half.sent->oldest();
  if (oldest.begin() >= acked || oldest.begin() < half.retransmitted_until ||
      now < oldest.time_ns ||
      (half.loss && half.loss->sacked.covers({oldest.begin(), oldest.end}))) {
    return;
  }
  const auto took = static_cast<std::uint64_t>(now - oldest.time_ns);
  made(half.rtt, keeping.budget).add(took);
  if (keeping.series) {
    Bin& bin = made(half.series, keeping.budget).at(now);
    const auto us =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(took / 1'000, kNoSample - 1));
    bin.rtt_sum_us += us;
    bin.min_rtt_us = std::min(bin.min_rtt_us, us);
    ++bin.rtt_samples;
  }
}

void end_round(Half& half, const Keeping& keeping) {
  if (half.acked < half.round_mark) {
    return;
  }
  if (half.round_peak > 0) {
    made(half.rounds, keeping.budget).add(half.round_peak);
  }
  half.round_mark = half.next;
  half.round_peak = 0;
}

void advance(Half& half, Position acked, std::int64_t now, const Keeping& keeping) {
  measure_round_trip(half, acked, now, keeping);
  account_for_missing(half, acked);
  half.acked = acked;
  half.is_answered = true;
  half.duplicate_acks = 0;
  if (acked >= half.recovery_point) {
    half.is_in_timeout = half.is_in_recovery = false;
  }
  if (half.sent) {
    half.sent->forget_below(acked);
  }
  if (half.loss) {
    half.loss->sacked.remove_below(acked);
  }
  end_round(half, keeping);
}

// A duplicate acknowledgement: the same as before, while data is in flight.
void take_duplicate(Half& half, Half& from, const packet::Packet& packet, const Keeping& keeping) {
  const bool is_same_window = packet.tcp.window == from.last_window;
  if (carries_data(packet) || packet.tcp.has(packet::kRst) || half.outstanding() <= 0 ||
      (!is_same_window && packet.tcp.sack_blocks == 0)) {
    return;
  }
  ++half.duplicate_acks;
  ++from.tally.duplicate_acks;
  if (keeping.series) {
    ++made(from.series, keeping.budget).at(packet.time_ns).duplicate_acks;
  }
}

void take_sack(Half& half, Half& from, const packet::Packet& packet, Position acked,
               const Keeping& keeping) {
  const packet::Tcp& tcp = packet.tcp;
  const auto range = [&half, &tcp](std::size_t i) -> Range {
    return {unwrap(tcp.sack[i].begin, half.origin, half.next),
            unwrap(tcp.sack[i].end, half.origin, half.next)};
  };
  from.used_sack = true;
  ++from.tally.sack_acks;
  std::size_t first = 0;
  const Range head = range(0);
  const bool is_inside_next =
      tcp.sack_blocks > 1 && range(1).begin <= head.begin && head.end <= range(1).end;
  if (head.end <= acked || is_inside_next) {
    first = 1;
    ++from.tally.dsack_acks;
    half.tally.retransmissions.spurious += half.loss ? half.loss->had_already(head) : 0;
  }
  for (std::size_t i = first; i < tcp.sack_blocks; ++i) {
    const Range block = range(i);
    if (block.begin >= acked && block.end <= half.next && block.bytes() > 0) {
      made(half.loss, keeping.budget).sacked.add(block);
    }
  }
}

// The scale only applies if both sides offered one, and never inside a SYN.
std::optional<std::uint8_t> scale_of(const Half& from, const Half& half) {
  if (!is_known(from.opening) || !is_known(half.opening)) {
    return std::nullopt;
  }
  const bool is_scaled = from.opening.has_window_scale && half.opening.has_window_scale;
  return is_scaled ? from.opening.window_scale : std::uint8_t{0};
}

void take_window(Half& half, Half& from, const packet::Packet& packet, Position acked,
                 const Keeping& keeping) {
  const packet::Tcp& tcp = packet.tcp;
  if (tcp.has(packet::kRst)) {
    return;
  }
  const bool is_syn = tcp.has(packet::kSyn);
  const bool closes = tcp.window == 0 && !is_syn;
  const bool was_closed = from.is_closed;
  from.is_closed = half.is_peer_closed = closes;
  from.tally.zero_windows += closes && !was_closed ? 1 : 0;
  from.last_window = tcp.window;
  from.max_window = is_syn ? from.max_window : std::max<std::uint32_t>(from.max_window, tcp.window);
  const std::optional<std::uint8_t> scale = is_syn ? 0 : scale_of(from, half);
  half.is_edge_known = scale.has_value();
  const std::uint32_t window = std::uint32_t{tcp.window} << scale.value_or(0);
  half.edge = acked + window;
  if (keeping.series && (scale || closes)) {
    Bin& bin = made(from.series, keeping.budget).at(packet.time_ns);
    bin.window_bytes = window;
    bin.min_window_bytes = std::min(bin.min_window_bytes, window);
    bin.zero_windows += closes && !was_closed ? 1 : 0;
  }
}

void take_echo(Half& half, const packet::Packet& packet, const Keeping& keeping) {
  if (!half.echoes || !packet.tcp.has(packet::kHasTimestamps)) {
    return;
  }
  const auto took = half.echoes->returned(packet.tcp.timestamp_echo, packet.time_ns);
  if (took && *took >= 0) {
    made(half.timestamp_rtt, keeping.budget).add(static_cast<std::uint64_t>(*took));
  }
}

}  // namespace

bool take_answer(Half& half, Half& from, const packet::Packet& packet, const Keeping& keeping) {
  if (!half.is_begun) {
    begin_at(half, packet.tcp.acknowledgement);
  }
  const Position acked = unwrap(packet.tcp.acknowledgement, half.origin, half.next);
  if (acked > half.next + kMaxAhead) {
    return false;
  }
  half.peer_sent_ns = packet.time_ns;
  take_echo(half, packet, keeping);
  const bool is_news = acked > half.acked || !half.is_answered;
  if (is_news) {
    advance(half, std::max(acked, half.acked), packet.time_ns, keeping);
  } else if (acked == half.acked) {
    take_duplicate(half, from, packet, keeping);
  }
  if (packet.tcp.sack_blocks > 0) {
    take_sack(half, from, packet, acked, keeping);
  }
  const bool updates_window =
      acked >= half.acked && (is_news || packet.tcp.window != from.last_window);
  if (updates_window) {
    take_window(half, from, packet, acked, keeping);
  }
  return updates_window;
}

}  // namespace chokepoint::capture::flow
