#include "probe/pcie/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checks/pci_checks.h"

namespace chokepoint::probe::pcie {
namespace {

host::PciDevice device_at(const sys::Root& root, const std::string& address) {
  return host::read_pci_device(root, address).value_or(host::PciDevice{.address = address});
}

Device gpu_device(const sys::Root& root, const host::Gpu& gpu) {
  Device device{.kind = Kind::Gpu,
                .address = gpu.address,
                .pci = device_at(root, gpu.address),
                .link = gpu.current,
                .possible = gpu.possible,
                .is_up = true};
  if (gpu.name) {
    device.names.push_back(*gpu.name);
  }
  return device;
}

Device card(Kind kind, const std::string& name, const host::PciDevice& pci) {
  Device device{.kind = kind, .address = pci.address, .names = {name}, .pci = pci};
  if (!pci.path.empty()) {
    device.link = pci.path.back().current;
    device.possible = pci.path.back().possible;
  }
  return device;
}

Device* find(std::vector<Device>& devices, const std::string& address) {
  const auto found = std::ranges::find(devices, address, &Device::address);
  return found == devices.end() ? nullptr : &*found;
}

bool has_slot(const host::Nic& nic) {
  return nic.pci && (host::is_port(nic) || nic.kind == host::NicKind::Infiniband);
}

void add_nic(const host::Nic& nic, std::vector<Device>& devices) {
  Device* device = find(devices, nic.pci->address);
  if (device == nullptr) {
    device = &devices.emplace_back(card(Kind::Nic, nic.name, *nic.pci));
  } else {
    device->names.push_back(nic.name);
  }
  if (const auto rate = checks::line_rate_mbps(nic); rate && host::is_up(nic)) {
    device->line_rate_mbps = device->line_rate_mbps.value_or(0) + *rate;
    device->is_up = true;
  }
}

void add_rdma(const host::RdmaDevice& rdma, std::vector<Device>& devices) {
  if (Device* nic = find(devices, rdma.pci->address)) {
    nic->names.push_back(rdma.name);
    return;
  }
  Device device = card(Kind::Rdma, rdma.name, *rdma.pci);
  for (const host::RdmaPort& port : rdma.ports) {
    const auto rate = port.rate ? host::rdma_rate_mbps(*port.rate) : std::nullopt;
    if (rate && host::is_active(port)) {
      device.line_rate_mbps = device.line_rate_mbps.value_or(0) + static_cast<std::int64_t>(*rate);
      device.is_up = true;
    }
  }
  devices.push_back(std::move(device));
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Gpu:
      return "gpu";
    case Kind::Nic:
      return "nic";
    case Kind::Rdma:
      break;
  }
  return "rdma";
}

Slots read_slots(const sys::Root& root, const Result<host::GpuStates>& states) {
  Slots slots{.gpus = host::read_gpus(root, states),
              .network = host::read_network(root),
              .rdma = host::read_rdma(root)};
  slots.numa_nodes = slots.network.numa_nodes;
  for (const host::Gpu& gpu : slots.gpus.gpus) {
    slots.devices.push_back(gpu_device(root, gpu));
  }
  for (const host::Nic& nic : slots.network.nics) {
    if (has_slot(nic)) {
      add_nic(nic, slots.devices);
    }
  }
  for (const host::RdmaDevice& rdma : slots.rdma) {
    if (rdma.pci) {
      add_rdma(rdma, slots.devices);
    }
  }
  std::ranges::stable_sort(slots.devices, {}, [](const Device& device) {
    return std::pair(device.kind == Kind::Gpu ? 0 : 1, device.address);
  });
  return slots;
}

std::string label_of(const Device& device) {
  return device.names.empty() ? device.address : fmt::format("{}", fmt::join(device.names, ", "));
}

}  // namespace chokepoint::probe::pcie
