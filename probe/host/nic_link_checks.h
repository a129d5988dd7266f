// Does each port run, and as fast and wide as it can? nic.link, nic.speed, nic.duplex, nic.mtu,
// nic.bond. Pure: facts in, checks out.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_link(const host::Nic& nic, Checks& checks);
void check_speed(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_duplex(const host::Nic& nic, Checks& checks);
void check_mtu(const host::Nic& nic, Checks& checks);
void check_bond(const host::Network& network, const host::Nic& nic, Checks& checks);

}  // namespace chokepoint::probe
