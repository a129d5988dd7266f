// How a page names a direction that goes one way.
#pragma once

#include <string>

#include "base/control/limits.h"

namespace chokepoint::probe {

inline std::string direction_text(control::Direction direction) {
  return direction == control::Direction::Send ? "to the peer" : "from the peer";
}

}  // namespace chokepoint::probe
