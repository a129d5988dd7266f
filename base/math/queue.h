// Whether a queue stands on a path, by its round trips: under load, and the shortest one of the
// path. Pure.
#pragma once

namespace chokepoint::math {

// Scheduling, interrupt moderation and delayed acknowledgements lengthen a round trip on an idle
// LAN by up to some tenths of a millisecond: docs/internals/tcp.md, "The sentence".
inline constexpr double kMinQueueMs = 0.5;

// How many times the shortest round trip. Of a whole test's median, which single late packets do
// not move: docs/internals/tcp.md.
inline constexpr double kTestQueueFactor = 1.3;
// Of one reading of a moment: a judgement, docs/internals/attribution.md, "Limits".
inline constexpr double kMomentQueueFactor = 1.8;

// False where the shortest one is not known (0).
constexpr bool has_queue(double loaded_ms, double shortest_ms, double factor) {
  return shortest_ms > 0 && loaded_ms > shortest_ms + kMinQueueMs &&
         loaded_ms > factor * shortest_ms;
}

}  // namespace chokepoint::math
