// Can a job use this host's RDMA devices, and by which GID? Pure.
#pragma once

#include <string>
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

// Does the network hold RoCE back before it has to drop its packets? Pure.

// rdma.flow-control, of an active RoCE port of a card.
void check_flow_control(const host::RdmaDevice& device, const host::RdmaPort& port,
                        const host::Network& network, Checks& checks);

// May a job lock what RDMA needs? Pure.

void check_locked_memory(const host::Process& process, bool has_rdma, Checks& checks);

}  // namespace chokepoint::checks
