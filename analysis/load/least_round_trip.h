// The shortest round trip that any of these samples knows of. A pure function.
#pragma once

#include <cstdint>
#include <vector>

namespace chokepoint::analysis {

// Of FlowSample or SocketSample; 0 where none tells.
template <class Row>
std::int64_t least_rtt_us(const std::vector<Row>& samples) {
  std::int64_t least_us = 0;
  for (const Row& sample : samples) {
    const std::int64_t rtt_us = sample.min_rtt_us.value_or(0);
    least_us = rtt_us > 0 && (least_us == 0 || rtt_us < least_us) ? rtt_us : least_us;
  }
  return least_us;
}

// Of two such figures the lesser that is known.
inline std::int64_t lesser_rtt_us(std::int64_t one, std::int64_t other) {
  return one == 0 || other == 0 ? one + other : (one < other ? one : other);
}

}  // namespace chokepoint::analysis
