// The result of a test of calls: how many, how long each took, and where that time went: at each
// worker, and on the way to it. Only times of one clock are compared, so the hosts' clocks may
// differ:
//
//   client      |────────── latency ──────────|
//   worker          |───── held ──────|           network: latency − held
//   next worker         |─ latency ─|             worker's own: held − the latency that it sees
//
// And the verdict, one sentence on what limited the calls. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "base/documents/probe_rpc.h"
#include "base/net/address.h"
#include "probe/rpc/measurement.h"
#include "probe/rpc/parameters.h"
#include "probe/rpc/test.h"

namespace chokepoint::probe::rpc {

using Limit = documents::RpcLimit;

// Without the peer, and what its name resolves to.
documents::ProbeRpc outcome_of(const Trial& trial, const std::string& client);

std::string family_title(net::Family family);  // "IPv4"

// Where the hosts' families differ: the same calls over `family` and over the other one. nullopt
// where they differ by no more than chance and busy hosts make them.
std::optional<std::string> family_difference(const std::string& name, net::Family family,
                                             const documents::RpcOtherFamily& used,
                                             const documents::RpcOtherFamily& other);

}  // namespace chokepoint::probe::rpc
