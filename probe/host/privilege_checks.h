// What may this process see: packets, other users' sockets, the kernel's tracing? Lacking it is no
// fault of the host, so nothing here is worse than Info. Pure.
#pragma once

#include "base/host/kernel.h"
#include "base/host/process.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_privileges(const host::Process& process, const host::Sysctls& sysctls, Checks& checks);

}  // namespace chokepoint::probe
