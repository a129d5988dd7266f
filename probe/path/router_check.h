// Asks one address whether it sits exactly so many hops away: a probe with that TTL must be
// answered by the address itself, one with a TTL less must expire on the way. Two small packets;
// blocks for at most a second. One thread.
#pragma once

#include <optional>
#include <vector>

#include "base/sys/clock.h"
#include "probe/path/symmetry.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

// Nothing where the answers do not tell.
std::optional<bool> sits_at(const net::Address& address, int ttl, const Origin& origin,
                            const sys::Clock& clock);

// Of the routers that answered both ways, with two addresses.
Placements place(const std::vector<RouterMatch>& routers, const Origin& origin,
                 const sys::Clock& clock, std::int64_t until_ns);

}  // namespace chokepoint::probe::path
