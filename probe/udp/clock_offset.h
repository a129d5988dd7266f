// How far the peer's monotonic clock is from this host's, from pings that carry four times:
//
//   asker     t1 ────────────────▶ t2     answerer
//             t4 ◀──────────────── t3
//
// offset = ((t2 - t1) + (t3 - t4)) / 2 is exact where both ways take as long, and wrong by half the
// round trip at most whatever they take. So the fastest round trip of many is the one that counts,
// and half of it is the uncertainty, with what reading two clocks at one moment leaves open.
// Values.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {

struct ClockOffset {
  std::int64_t offset_ns = 0;  // the answerer's clock less the asker's
  std::int64_t uncertainty_ns = 0;
  std::int64_t round_trip_ns = 0;

  // The same, seen from the answerer.
  ClockOffset turned() const { return {-offset_ns, uncertainty_ns, round_trip_ns}; }
};

class OffsetFilter {
 public:
  void add(std::int64_t asked_ns, const PongTimes& pong, std::int64_t answered_ns);
  const std::optional<ClockOffset>& best() const { return best_; }

 private:
  std::optional<ClockOffset> best_;
};

// From a measurement before and one after: where the clocks ran apart meanwhile, the uncertainty
// grows by how far.
std::optional<ClockOffset> combined(const std::optional<ClockOffset>& before,
                                    const std::optional<ClockOffset>& after);

}  // namespace chokepoint::probe::udp
