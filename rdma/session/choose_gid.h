// Which GID of a port reaches the peer: of the control connection's address first, then of its
// family; RoCE v2 rather than v1; link-local only where nothing else is there. Pure functions over
// facts.
#pragma once

#include <string>

#include "base/host/rdma.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "rdma/session/port_wish.h"

namespace chokepoint::rdma::session {

// Its index. What was wished for and is not there is an error that lists what is.
Result<int> choose_gid(const host::RdmaDevice& device, const host::RdmaPort& port,
                       const PortWish& wish, const net::Address& control);

std::string list_gids(const host::RdmaPort& port);  // "0 fe80::1 (RoCE v2), 1 …"

}  // namespace chokepoint::rdma::session
