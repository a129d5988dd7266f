// The difference of two times of which one came off the wire and may be anything: it wraps where
// plain signed arithmetic would be undefined. A pure function.
#pragma once

#include <cstdint>

namespace chokepoint::probe::udp {

constexpr std::int64_t difference(std::int64_t later_ns, std::int64_t earlier_ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(later_ns) -
                                   static_cast<std::uint64_t>(earlier_ns));
}

}  // namespace chokepoint::probe::udp
