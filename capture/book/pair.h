// What a connection is looked up by: both its ends, whichever of them is named first. A value.
#pragma once

#include <cstdint>

#include "capture/packet/packet.h"

namespace chokepoint::capture::book {

struct Pair {
  packet::Address low = {};
  packet::Address high = {};
  std::uint16_t low_port = 0;
  std::uint16_t high_port = 0;
  std::uint8_t protocol = 0;
  std::uint64_t network = 0;  // the inode of the network namespace; 0: the program's own

  auto operator<=>(const Pair&) const = default;
};

Pair pair_of(const packet::Ends& ends, std::uint64_t network);

}  // namespace chokepoint::capture::book
