// Which routers a flow passes: a traceroute with the flow's own five-tuple, by Pings of a small TTL
// from the socket with which it was measured. The tracer is probe/path's; the target's answer is
// the server's Pong. Blocks up to its deadline; several threads inside.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/documents/probe_paths.h"
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

using Hops = documents::FlowHops;

// An item for each flow, in order; nullopt where time did not suffice or the target did not answer.
// Ends early once `interrupt` is readable.
std::vector<std::optional<Hops>> trace_flows(std::span<const TracedFlow> flows, std::uint64_t test,
                                             std::chrono::nanoseconds time, int interrupt,
                                             const sys::Clock& clock);

// How many paths these show at least: two addresses at the same distance are two paths. nullopt
// where no router answered.
std::optional<std::size_t> paths_by_hops(std::span<const std::optional<Hops>> flows);

using Place = documents::PathsRouter;

// The first distance at which all of `these` flows whose router is known there (two at least) have
// the same one, and none of the others whose router is known there (one at least) has it; nothing
// where there is none.
std::optional<Place> common_hop(std::span<const std::optional<Hops>> flows,
                                std::span<const std::size_t> these,
                                std::span<const std::size_t> others);

}  // namespace chokepoint::probe::paths
