// Do CPUs near the port drain its queues? nic.irq, nic.numa. Pure: facts in, checks out.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_irq(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_nic_numa(const host::Network& network, const host::Nic& nic, Checks& checks);

}  // namespace chokepoint::probe
