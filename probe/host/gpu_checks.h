// Do the GPUs have the PCIe link they can have? A GPU lowers its link's speed when it idles, so a
// low speed means something only under load; lanes never drop for idleness. Pure.
#pragma once

#include "base/host/cpu.h"
#include "base/host/gpu.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

// has_rdma: data may go between GPU and NIC without passing through memory.
void check_gpus(const host::Gpus& gpus, const host::Cpu& cpu, bool has_rdma, Checks& checks);

}  // namespace chokepoint::probe
