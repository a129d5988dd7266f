// Can a job use this host's RDMA devices, and by which GID? Pure.
#pragma once

#include <vector>

#include "base/checks/check.h"
#include "base/host/network.h"
#include "base/host/process.h"
#include "base/host/rdma.h"

namespace chokepoint::checks {

void check_rdma(const std::vector<host::RdmaDevice>& devices, const host::Network& network,
                const host::Process& process, Checks& checks);

// The GID of a RoCE port to use: RoCE v2 that routers pass on, IPv4-mapped before IPv6. Null where
// it has none.
const host::RdmaGid* usable_gid(const host::RdmaPort& port);

}  // namespace chokepoint::checks
