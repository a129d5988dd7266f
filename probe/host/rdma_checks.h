// Can a job use this host's RDMA devices, and by which GID? Pure.
#pragma once

#include <vector>

#include "base/host/process.h"
#include "base/host/rdma.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_rdma(const std::vector<host::RdmaDevice>& devices, const host::Process& process,
                Checks& checks);

// The GID of a RoCE port to use: RoCE v2 that routers pass on, IPv4-mapped before IPv6. Null where
// it has none.
const host::RdmaGid* usable_gid(const host::RdmaPort& port);

}  // namespace chokepoint::probe
