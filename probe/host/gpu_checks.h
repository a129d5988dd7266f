// Whether the GPUs have the PCIe link that they can have. An idle GPU lowers its link's speed, so a
// low speed is a finding only under load; the number of lanes never drops when idle. Pure.
#pragma once

#include "base/host/cpu.h"
#include "base/host/gpu.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

// has_rdma: data may go between GPU and NIC without passing through memory.
void check_gpus(const host::Gpus& gpus, const host::Cpu& cpu, bool has_rdma, Checks& checks);

}  // namespace chokepoint::probe
