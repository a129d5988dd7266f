// Does this host route, forward and speak both families as a job's host should? And do the
// interfaces that the environment names to Gloo and NCCL exist? Pure.
#pragma once

#include "base/host/kernel.h"
#include "base/host/network.h"
#include "base/host/process.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_ip(const host::Addresses& addresses, const host::Sysctls& sysctls, Checks& checks);
void check_interface_choice(const host::Addresses& addresses, const host::Process& process,
                            Checks& checks);

}  // namespace chokepoint::probe
