// TCP's sequence numbers wrap after 4 GB; positions do not. A position counts bytes of one
// direction from its first: 0 is the byte behind the SYN, or where the capture came in. What was
// sent before the capture came in has negative positions. A value.
#pragma once

#include <cstdint>

namespace chokepoint::capture::flow {

using Position = std::int64_t;

// Near the highest position so far, which is where segments are.
inline Position unwrap(std::uint32_t sequence, std::uint32_t origin, Position near) {
  const auto step = sequence - (origin + static_cast<std::uint32_t>(near));
  return near + static_cast<std::int32_t>(step);
}

}  // namespace chokepoint::capture::flow
