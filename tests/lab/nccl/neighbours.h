// A rank's two connections in a ring or a line: to the next rank, from the one before.
#pragma once

#include <string>

#include "base/sys/descriptor.h"

namespace chokepoint::lab {

struct Neighbours {
  sys::Descriptor next = {};
  sys::Descriptor before = {};
};

struct Place {
  std::string address = {};  // IPv4; "@…" is a name in this host alone, without a port
  int port = 0;
};
// Waits for both; ends the program where they do not come. Both do not block. Of a line the first
// rank has none before it (`own` without an address), the last one none after it.
Neighbours meet(const Place& own, const Place& next);

}  // namespace chokepoint::lab
