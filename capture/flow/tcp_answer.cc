#include <algorithm>
#include <optional>

#include "capture/flow/budget.h"
#include "capture/flow/tcp.h"

namespace chokepoint::capture::flow {
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
  half.heard_ns = packet.time_ns;
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
