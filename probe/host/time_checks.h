// Do this host's clocks agree with the other hosts', and can they be read cheaply? Pure.
#pragma once

#include "base/host/kernel.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_time(const host::Timekeeping& time, Checks& checks);

}  // namespace chokepoint::probe
