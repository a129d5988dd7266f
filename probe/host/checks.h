// Everything that doctor judges about this host. Pure functions from facts (base/host) to checks
// (base/checks). examine() calls them all, in the order in which doctor shows them. The checks of
// PCIe and RDMA stand in base/checks, because 'rdma devices' shows them, too.
#pragma once

#include <optional>
#include <vector>

#include "base/host/inventory.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

Checks examine(const host::Inventory& inventory);

// The kernel, memory, clocks, libraries and this process's privileges. Neither libraries nor
// missing privileges are a fault of the host: nothing of them is worse than Info.
void check_kernel(const host::Kernel& kernel, Checks& checks);
void check_memory(const host::Memory& memory, Checks& checks);
// Room for what NCCL and loaders of data share: containers get 64 MiB of it unless asked.
void check_shared_memory(const std::vector<host::Mount>& mounts, Checks& checks);
void check_time(const host::Timekeeping& time, Checks& checks);
void check_privileges(const host::Process& process, Checks& checks);
struct DevicesPresent {
  bool gpus = false;
  bool rdma = false;
};
void check_libraries(const host::Libraries& libraries, std::optional<bool> peer_memory,
                     DevicesPresent present, Checks& checks);

}  // namespace chokepoint::probe
