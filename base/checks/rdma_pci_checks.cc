#include "base/checks/rdma_pci_checks.h"

#include <algorithm>

#include "base/checks/pci_checks.h"

namespace chokepoint::checks {
namespace {

double rate_mbps(const host::RdmaPort& port) {
  return port.rate ? host::rdma_rate_mbps(*port.rate).value_or(0) : 0;
}

// The port that asks most of PCIe, an active one before others.
const host::RdmaPort* busiest_port(const host::RdmaDevice& device) {
  const auto weight = [](const host::RdmaPort& port) {
    return std::pair(is_active(port), rate_mbps(port));
  };
  const auto most = std::ranges::max_element(device.ports, {}, weight);
  return most == device.ports.end() ? nullptr : &*most;
}

// What the checks of a NIC look at, whatever the link layer.
host::Nic as_nic(const host::RdmaDevice& device, const host::RdmaPort& port) {
  host::Nic nic{.name = device.name,
                .kind = host::NicKind::Physical,
                .enabled = is_active(port),
                .carrier = is_active(port),
                .pci = device.pci};
  if (const double rate = rate_mbps(port); rate > 0) {
    nic.speed_mbps = static_cast<std::int64_t>(rate);
  }
  return nic;
}

}  // namespace

void check_rdma_pci(const host::RdmaDevice& device, Checks& checks) {
  const host::RdmaPort* port = busiest_port(device);
  if (!device.pci || port == nullptr) {
    return;
  }
  const host::Nic nic = as_nic(device, *port);
  check_pci_link(nic, checks);
  check_pci_bandwidth(nic, checks);
  check_pci_errors(nic, checks);
}

bool is_judged_as_nic(const host::RdmaDevice& device, const host::Network& network) {
  return std::ranges::any_of(network.nics, [&](const host::Nic& nic) {
    return is_port(nic) && nic.pci && device.pci && nic.pci->address == device.pci->address;
  });
}

}  // namespace chokepoint::checks
