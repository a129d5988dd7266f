// What a port's counters tell since boot: nic.errors, nic.drops, nic.pauses, nic.flaps. Pure: facts
// in, checks out.
#pragma once

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_errors(const host::Nic& nic, Checks& checks);
void check_drops(const host::Nic& nic, Checks& checks);
void check_pauses(const host::Nic& nic, Checks& checks);
void check_flaps(const host::Nic& nic, Checks& checks);

}  // namespace chokepoint::probe
