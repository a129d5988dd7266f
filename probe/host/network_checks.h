// All that is judged about this host's interfaces and the PCIe below them. Pure: facts in, checks
// out.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"
#include "probe/host/interface_checks.h"

namespace chokepoint::probe {

void check_network(const host::Network& network, const JobDefaults& defaults, Checks& checks);

}  // namespace chokepoint::probe
