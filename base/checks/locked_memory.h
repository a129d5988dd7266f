// May a job lock what RDMA needs? Pure.
#pragma once

#include "base/checks/check.h"
#include "base/host/process.h"

namespace chokepoint::checks {

void check_locked_memory(const host::Process& process, bool has_rdma, Checks& checks);

}  // namespace chokepoint::checks
