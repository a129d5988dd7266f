// A flow as the engine keeps it: who talks to whom, and its two halves. Half 0 is the direction
// from a to b, where a opened the connection, or was seen sending first. Owned by the Pool. One
// thread.
#pragma once

#include <array>
#include <cstdint>

#include "capture/flow/half.h"
#include "capture/flow/key.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

struct Flow {
  Key key{};
  packet::Ends ends{};  // source is a
  packet::Kind kind = packet::Kind::Tcp;
  std::uint32_t interface = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t tick = 0;         // of the pool: when it was last put in order
  std::uint32_t generation = 0;  // of the pool: differs when the slot has another flow
  bool is_reset = false;
  bool is_low_a = false;  // a is the lower end of the key
  std::array<Half, 2> halves{};

  // Which half sent this packet.
  unsigned direction_of(bool from_low) const { return from_low == is_low_a ? 0 : 1; }
  bool is_closed() const { return is_reset || (halves[0].is_finished && halves[1].is_finished); }
  bool handshake_seen() const { return halves[0].opening.is_seen && halves[1].opening.is_seen; }
};

// What the rules need besides the flow: where details are accounted for, and what to keep.
struct Keeping {
  Budget& budget;
  bool series = true;
};

}  // namespace chokepoint::capture::flow
