// Is the kernel one on which a job can be watched? Pure: inventory in, checks out.
#pragma once

#include "base/host/kernel.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_kernel(const host::Kernel& kernel, Checks& checks);

}  // namespace chokepoint::probe
