// Does PCIe carry what the port can? Every hop's link against what both its ends can do, and the
// bandwidth that leaves against the line rate: pci.link, pci.bandwidth, pci.shared, pci.errors.
// Pure: facts in, checks out.
#pragma once

#include "base/checks/check.h"
#include "base/host/network.h"

namespace chokepoint::checks {

void check_pci_link(const host::Nic& nic, Checks& checks);
void check_pci_bandwidth(const host::Nic& nic, Checks& checks);
void check_pci_shared(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_pci_errors(const host::Nic& nic, Checks& checks);

}  // namespace chokepoint::checks
