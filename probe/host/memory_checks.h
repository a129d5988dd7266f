// Is there memory enough, and may a job lock what RDMA needs? Pure.
#pragma once

#include "base/host/memory.h"
#include "base/host/process.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_memory(const host::Memory& memory, Checks& checks);
void check_locked_memory(const host::Process& process, bool has_rdma, Checks& checks);

}  // namespace chokepoint::probe
