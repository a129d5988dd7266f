// Are TCP's switches where long and fast paths need them? Buffers have a file of their own. Pure.
#pragma once

#include "base/host/kernel.h"
#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_tcp(const host::Sysctls& sysctls, const host::Links& links, Checks& checks);

}  // namespace chokepoint::probe
