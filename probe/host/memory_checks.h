// Is there memory enough? Pure.
#pragma once

#include "base/host/memory.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_memory(const host::Memory& memory, Checks& checks);

}  // namespace chokepoint::probe
