// When each side arrived at a collective, as one node's connections show it. Each side of a
// connection sends a ready message when its code reaches the collective, and no data moves before
// both have.
//
// If a ready message was not captured, its time is unknown; a later buffer's ready message, which
// comes after data, does not replace it. One neighbour with an unknown time makes the time of the
// last neighbour unknown, unless data moved on its connection before the last known one.
//
// The missed stretch in which an unknown message lay bounds its time from above. If the other side
// arrived even later, the bound is taken: then it is certain who waited, and the wait is slightly
// underestimated. And if data moved only long after one side was ready, the other side arrived
// last, just before the data. Pure functions.
#pragma once

#include <cstdint>

#include "capture/gloo/collectives.h"

namespace chokepoint::capture::gloo {

// Times are 0 if they are not known.
struct Arrival {
  std::int64_t own_ns = 0;   // this node
  std::int64_t peer_ns = 0;  // the last of its neighbours, as seen here
  std::uint32_t last_peer = Collectives::kNoConnection;
  std::int64_t first_data_ns = 0;  // in either direction
  std::int64_t last_data_ns = 0;

  bool are_both_known() const { return own_ns != 0 && peer_ns != 0; }
};

Arrival arrival_at(const Collective& collective);

}  // namespace chokepoint::capture::gloo
