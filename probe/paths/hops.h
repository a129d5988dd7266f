// Which routers a flow passes: a traceroute with the flow's own five-tuple, by Pings of a small TTL
// from the socket with which it was measured. The tracer is probe/path's; the target's answer is
// the server's Pong. Blocks up to its deadline; several threads inside.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/path/trace.h"

namespace chokepoint::probe::paths {

// A socket that is connected to the server's, and what names its packets there. Borrowed.
struct TracedFlow {
  int socket = -1;
  std::uint32_t flow = 0;
};

// The routers from TTL 1 on, without the target; nullopt is one that did not answer. Nothing of a
// flow for which time did not suffice, or whose target was not reached.
using Hops = std::vector<std::optional<net::Address>>;

// An item for each flow. Ends early once `interrupt` is readable.
std::vector<std::optional<Hops>> trace_flows(std::span<const TracedFlow> flows, std::uint64_t test,
                                             std::chrono::nanoseconds time, int interrupt,
                                             const sys::Clock& clock);

// How many paths these show at least: an address that is another one at the same distance is
// another path. nullopt where no router answered.
std::optional<std::size_t> paths_by_hops(std::span<const std::optional<Hops>> flows);

struct Place {
  int ttl = 0;
  net::Address address = {};
};

// The first router that all of these flows pass which were seen to, and none of the others; nothing
// where there is none, or fewer than two of these flows say so.
std::optional<Place> common_hop(std::span<const std::optional<Hops>> flows,
                                std::span<const std::size_t> these,
                                std::span<const std::size_t> not_others);

}  // namespace chokepoint::probe::paths
