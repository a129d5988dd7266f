// A rank's two connections in a ring: to the next rank, from the one before.
#pragma once

#include <string>

#include "base/sys/descriptor.h"

namespace chokepoint::lab {

struct Neighbours {
  sys::Descriptor next = {};
  sys::Descriptor before = {};
};

struct Place {
  std::string address = {};
  int port = 0;
};
// Waits for both; ends the program where they do not come. Both do not block.
Neighbours meet(const Place& own, const Place& next);

}  // namespace chokepoint::lab
