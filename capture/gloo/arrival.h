// Who came to a collective when, as one node's connections show it. Each side of a connection says
// by a ready message that its code has come to it, and no data moves before both have.
//
// A ready message that lay out of sight is unknown, or is told by a later buffer's, which comes
// after data: that is not taken for it. One neighbour's that is unknown leaves the last one's
// unknown, unless data moved on that connection before the last one that is known.
//
// By when an unknown one had come is known from the stretch in which its message lay. Where the
// other side came later still, that moment is taken: who waited is then certain, and how long is
// told a little short. And where data moved only long after one side was ready, the other one came
// last, just before them. Pure functions.
#pragma once

#include <cstdint>

#include "capture/gloo/collectives.h"

namespace chokepoint::capture::gloo {

// Times are 0 where they are not known.
struct Arrival {
  std::int64_t own_ns = 0;   // this node
  std::int64_t peer_ns = 0;  // the last of its neighbours, as seen here
  std::uint32_t last_peer = Collectives::kNoConnection;
  std::int64_t first_data_ns = 0;  // either way
  std::int64_t last_data_ns = 0;

  bool are_both_known() const { return own_ns != 0 && peer_ns != 0; }
};

Arrival arrival_at(const Collective& collective);

}  // namespace chokepoint::capture::gloo
