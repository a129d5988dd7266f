#include "capture/flow/cause.h"

#include <algorithm>
#include <limits>

namespace chokepoint::capture::flow {
namespace {

// No sender's timer is shorter in practice: Linux' least is 200 ms, Windows' 300 ms.
constexpr std::int64_t kShortestTimerNs = 190'000'000;

// How long what passes the tap takes to the sender, and its reaction back.
std::int64_t way_to_sender_ns(const Half& other) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Spread* spread : {other.rtt.get(), other.timestamp_rtt.get()}) {
    least = spread != nullptr ? std::min(least, spread->min()) : least;
  }
  return least == std::numeric_limits<std::uint64_t>::max() ? 0 : static_cast<std::int64_t>(least);
}

// A tail loss probe is only sent where both sides speak SACK.
bool may_probe(const Half& half, const Half& other) {
  const auto may_sack = [](const Opening& opening) {
    return !opening.is_seen || opening.is_cut || opening.allows_sack;
  };
  return may_sack(half.opening) && may_sack(other.opening);
}

}  // namespace

bool is_reported(const Half& half, Range range) {
  if (half.loss && half.loss->sacked.highest() > range.begin) {
    return true;
  }
  return half.duplicate_acks > 0 && range.begin <= half.acked;
}

Cause cause_of(const Half& half, const Half& other, Range range, std::int64_t time_ns) {
  if (half.is_in_timeout && range.begin < half.recovery_point) {
    return Cause::Timeout;
  }
  const std::int64_t silence = time_ns - std::max(half.heard_ns, half.sent_ns);
  if (silence >= kShortestTimerNs + way_to_sender_ns(other)) {
    return Cause::Timeout;
  }
  if (is_reported(half, range) || (half.is_in_recovery && range.begin < half.recovery_point)) {
    return Cause::Fast;
  }
  const bool is_last = range.end == half.next;
  return half.is_answered && is_last && may_probe(half, other) ? Cause::Probe : Cause::Unknown;
}

}  // namespace chokepoint::capture::flow
