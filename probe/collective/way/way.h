// How a collective's data went, told by the connections that came up for it, and whether it is the
// best way that this host has. Pure functions but for live_host().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/host/network.h"
#include "probe/collective/communicator.h"
#include "probe/collective/way/connections.h"

namespace chokepoint::probe::collective {

struct HostNetwork {
  host::Network network = {};
  host::Addresses addresses = {};
};

HostNetwork live_host();

// What a user is told to set: "GLOO_SOCKET_IFNAME".
struct WayHints {
  std::string variable = {};
  bool by_prefix = false;  // an exact name has to be written with '='
};

WayHints gloo_hints();
WayHints nccl_hints();

// By the interface that most of the connections use; all of the others' names follow it. Nothing is
// known where there are no connections.
Way way_of_sockets(const std::vector<Connection>& connections, int ranks, const HostNetwork& host,
                   const WayHints& hints);

// The interface that has this address; empty where none has.
std::string interface_of(const net::Address& address, const host::Addresses& addresses);

// Which interface of this host would be better than this one, and how to have it; empty where none
// would.
std::string better_than(const std::string& interface, const HostNetwork& host,
                        const WayHints& hints);

}  // namespace chokepoint::probe::collective
