// Which of this host's interfaces would a job use, and do they agree with each other?
// host.interfaces, host.subnets, host.mtu-mismatch. Pure: facts in, checks out.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_interfaces(const host::Network& network, Checks& checks);
void check_subnets(const host::Network& network, Checks& checks);
void check_mtu_mismatch(const host::Network& network, Checks& checks);

}  // namespace chokepoint::probe
