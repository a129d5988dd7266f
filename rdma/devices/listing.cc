#include "rdma/devices/listing.h"

#include <algorithm>
#include <memory>

#include "base/checks/pci_checks.h"
#include "base/checks/rdma_checks.h"

namespace chokepoint::rdma::devices {
namespace {

void ask_mtu(verbs::Library& library, host::RdmaDevice& device) {
  const Result<std::unique_ptr<verbs::Device>> opened = library.open(device.name);
  for (host::RdmaPort& port : device.ports) {
    const Result<verbs::Port> asked =
        opened ? (*opened)->port(port.number) : std::unexpected(opened.error());
    if (asked && asked->active_mtu_bytes > 0) {
      port.active_mtu_bytes = asked->active_mtu_bytes;
    }
  }
}

}  // namespace

Listing read_listing(const sys::Root& root, const std::string& only, verbs::Library* library) {
  Listing listing{.devices = host::read_rdma(root),
                  .network = host::read_network(root),
                  .process = host::read_process(root)};
  if (!only.empty()) {
    std::erase_if(listing.devices,
                  [&](const host::RdmaDevice& device) { return device.name != only; });
  }
  for (host::RdmaDevice& device : listing.devices) {
    if (library != nullptr) {
      ask_mtu(*library, device);
    }
  }
  check_rdma(listing.devices, listing.network, listing.process, listing.checks);
  for (const host::RdmaDevice& device : listing.devices) {
    check_rdma_pci(device, listing.checks);
  }
  if (!listing.devices.empty()) {
    check_locked_memory(listing.process, true, listing.checks);
  }
  return listing;
}

std::optional<net::PriorityFlowControl> flow_control_of(const Listing& listing,
                                                        const host::RdmaPort& port) {
  const auto nic = std::ranges::find_if(
      listing.network.nics, [&](const host::Nic& each) { return each.name == port.netdev; });
  return nic == listing.network.nics.end() ? std::nullopt : nic->settings.pfc;
}

}  // namespace chokepoint::rdma::devices
