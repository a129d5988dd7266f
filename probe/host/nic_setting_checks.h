// Are buffers, queues and offloads set for the port's speed? nic.settings, nic.rings,
// nic.coalescing, nic.offloads, nic.qdisc, nic.queues. Pure: facts in, checks out.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

// UNKNOWN where the driver could not be asked: the checks below then have nothing to judge.
void check_settings_readable(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_rings(const host::Nic& nic, Checks& checks);
void check_coalescing(const host::Nic& nic, Checks& checks);
void check_offloads(const host::Nic& nic, Checks& checks);
void check_qdisc(const host::Nic& nic, Checks& checks);
void check_queues(const host::Network& network, const host::Nic& nic, Checks& checks);

}  // namespace chokepoint::probe
