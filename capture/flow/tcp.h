// One TCP packet of a known flow: SYN, keep-alives and probes, data, and what it answers to the
// other side. Updates both halves. One thread.
#pragma once

#include <cstdint>

#include "capture/flow/flow.h"

namespace chokepoint::capture::flow {

// Where the payload stands in its stream, and how much of it is old.
struct Placed {
  Position offset = 0;
  std::uint32_t new_from = 0;
  bool is_copy = false;  // the very same packet was seen before
};

Placed take_tcp(Flow& flow, unsigned direction, const packet::Packet& packet,
                const Keeping& keeping);

// The packet opens another connection between the same ends, or belongs to one. Only a SYN can, or
// what follows an end.
bool is_of_another(const Flow& flow, unsigned direction, const packet::Packet& packet);

inline bool begins_another(const Flow& flow, unsigned direction, const packet::Packet& packet) {
  return (packet.tcp.has(packet::kSyn) || flow.is_closed()) &&
         is_of_another(flow, direction, packet);
}

}  // namespace chokepoint::capture::flow
