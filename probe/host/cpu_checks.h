// Whether the processors run at their full frequency, and whether NUMA nodes have memory. Pure.
#pragma once

#include "base/host/cpu.h"
#include "base/host/kernel.h"
#include "base/host/memory.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_cpu(const host::Cpu& cpu, Checks& checks);
void check_numa(const host::Memory& memory, const host::Sysctls& sysctls, Checks& checks);

}  // namespace chokepoint::probe
