// Whether buffers, queues and offloads are set for a port's speed, and whether CPUs near the port
// drain its queues. check_settings_readable is Unknown if the driver could not be asked; the others
// then judge nothing. Pure.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_settings_readable(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_rings(const host::Nic& nic, Checks& checks);
void check_coalescing(const host::Nic& nic, Checks& checks);
void check_offloads(const host::Nic& nic, Checks& checks);
void check_qdisc(const host::Nic& nic, Checks& checks);
void check_queues(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_irq(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_nic_numa(const host::Network& network, const host::Nic& nic, Checks& checks);

}  // namespace chokepoint::probe
