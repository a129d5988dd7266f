// One flow of a test at one end: a connected UDP socket and which way the data goes. Owns the
// socket; moves.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sys/descriptor.h"

namespace chokepoint::probe::udp {

struct Flow {
  sys::Descriptor fd = {};
  std::uint8_t stream = 0;
  bool sends = false;  // this end does
};

struct Flows {
  std::uint64_t test = 0;
  std::vector<Flow> flows = {};
  std::int64_t room_bytes = 0;
};

}  // namespace chokepoint::probe::udp
