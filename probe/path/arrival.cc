#include "probe/path/arrival.h"

namespace chokepoint::probe::path {

std::int64_t monotonic_of(std::optional<std::int64_t> wall_ns, const sys::Clock& clock) {
  constexpr std::int64_t kSensible = 5'000'000'000;
  const std::int64_t now_ns = clock.monotonic_ns();
  if (!wall_ns) {
    return now_ns;
  }
  const std::int64_t age_ns = clock.wall_ns() - *wall_ns;
  return age_ns < 0 || age_ns > kSensible ? now_ns : now_ns - age_ns;
}

}  // namespace chokepoint::probe::path
