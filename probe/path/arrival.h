// When a packet arrived, on the clock that orders what is measured: the kernel stamps it with wall
// time before this process wakes up. Pure but for the clock it is given.
#pragma once

#include <cstdint>
#include <optional>

#include "base/sys/clock.h"

namespace chokepoint::probe::path {

// Now where there is no stamp, or one that a step of the wall clock made senseless.
std::int64_t monotonic_of(std::optional<std::int64_t> wall_ns, const sys::Clock& clock);

}  // namespace chokepoint::probe::path
