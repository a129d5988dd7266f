// Where large packets vanish: the last hop that still answers a large probe and the next one, which
// answers small ones only. The link between them drops without a word. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "probe/path/hop.h"

namespace chokepoint::probe::path {

struct BlackHole {
  int packet_bytes = 0;
  std::optional<Hop> last_before = {};  // nothing: right behind this host
  Hop first_behind = {};
};

// Two traces of one path, by small packets and by those that vanish. Nothing where the large ones
// come as far as the small ones.
std::optional<BlackHole> locate(const std::vector<Hop>& small, const std::vector<Hop>& large,
                                int packet_bytes);

}  // namespace chokepoint::probe::path
