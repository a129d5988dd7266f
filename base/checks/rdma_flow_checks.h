// Does the network hold RoCE back before it has to drop its packets? Pure.
#pragma once

#include <string>

#include "base/checks/check.h"
#include "base/host/network.h"
#include "base/host/rdma.h"

namespace chokepoint::checks {

// rdma.flow-control, of an active RoCE port of a card.
void check_flow_control(const host::RdmaDevice& device, const host::RdmaPort& port,
                        const host::Network& network, Checks& checks);

}  // namespace chokepoint::checks
