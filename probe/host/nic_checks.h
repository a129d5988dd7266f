// Whether a port runs as fast and wide as it can (nic.link, nic.speed, nic.duplex, nic.mtu,
// nic.bond), and what its counters have counted since boot (nic.errors, nic.drops, nic.pauses,
// nic.flaps). Pure.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_link(const host::Nic& nic, Checks& checks);
void check_speed(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_duplex(const host::Nic& nic, Checks& checks);
void check_mtu(const host::Nic& nic, Checks& checks);
void check_bond(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_errors(const host::Nic& nic, Checks& checks);
void check_drops(const host::Nic& nic, Checks& checks);
void check_pauses(const host::Nic& nic, Checks& checks);
void check_flaps(const host::Nic& nic, Checks& checks);

}  // namespace chokepoint::probe
