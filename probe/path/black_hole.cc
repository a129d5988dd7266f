#include "probe/path/black_hole.h"

#include <algorithm>

namespace chokepoint::probe::path {

std::optional<BlackHole> locate(const std::vector<Hop>& small, const std::vector<Hop>& large,
                                int packet_bytes) {
  int reaches = 0;
  for (const Hop& hop : large) {
    reaches = hop.answered > 0 ? std::max(reaches, hop.ttl) : reaches;
  }
  BlackHole found{.packet_bytes = packet_bytes};
  for (const Hop& hop : small) {
    if (hop.answered > 0 && hop.ttl <= reaches) {
      found.last_before = hop;
    } else if (hop.answered > 0) {
      found.first_behind = hop;
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace chokepoint::probe::path
