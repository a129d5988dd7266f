#include "probe/udp/clock_offset.h"

#include <cstdlib>

#include "probe/udp/difference.h"

namespace chokepoint::probe::udp {

void OffsetFilter::add(std::int64_t asked_ns, const PongTimes& pong, std::int64_t answered_ns) {
  const std::int64_t held = difference(pong.answered_ns, pong.received_ns);
  const std::int64_t round_trip = difference(difference(answered_ns, asked_ns), held);
  constexpr std::int64_t kStampsNs = 1'000;
  if (held < 0 || round_trip < 0 || (best_ && round_trip >= best_->round_trip_ns)) {
    return;
  }
  const std::int64_t there = difference(pong.received_ns, asked_ns);
  const std::int64_t back = difference(answered_ns, pong.answered_ns);
  best_ = {.offset_ns = there / 2 - back / 2,
           .uncertainty_ns = round_trip / 2 + kStampsNs,
           .round_trip_ns = round_trip};
}

std::optional<ClockOffset> combined(const std::optional<ClockOffset>& before,
                                    const std::optional<ClockOffset>& after) {
  if (!before || !after) {
    return std::nullopt;
  }
  ClockOffset best = before->round_trip_ns <= after->round_trip_ns ? *before : *after;
  const std::int64_t apart = std::llabs(before->offset_ns / 2 - after->offset_ns / 2) * 2;
  // Two readings differ by their own uncertainty without any drift.
  if (apart > before->uncertainty_ns + after->uncertainty_ns) {
    best.uncertainty_ns += apart;
  }
  return best;
}

}  // namespace chokepoint::probe::udp
