// Does PCIe carry what an RDMA device's port can? As pci_checks.h judges a NIC's. Pure.
#pragma once

#include "base/checks/check.h"
#include "base/host/network.h"
#include "base/host/rdma.h"

namespace chokepoint::checks {

void check_rdma_pci(const host::RdmaDevice& device, Checks& checks);

// Is the card judged as a NIC already?
bool is_judged_as_nic(const host::RdmaDevice& device, const host::Network& network);

}  // namespace chokepoint::checks
