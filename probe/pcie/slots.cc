#include "probe/pcie/slots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "measure/checks/pci_checks.h"

namespace chokepoint::probe::pcie {
namespace {

using host::PciHop;

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

// Without the function, the digit behind the dot.
std::string_view card_of(std::string_view address) {
  return address.substr(0, address.find_last_of('.'));
}

// "0000:3a" of a path that begins at 0000:3a:00.0: a host bridge is named after its first bus.
std::string_view host_bridge_of(const Device& device) {
  const std::string& first = device.pci.path.front().address;
  return std::string_view(first).substr(0, first.find_last_of(':'));
}

std::size_t common_bridges(const std::vector<PciHop>& one, const std::vector<PciHop>& other) {
  const auto [end, _] = std::ranges::mismatch(one, other, {}, &PciHop::address, &PciHop::address);
  return static_cast<std::size_t>(end - one.begin());
}

// Between this device and the lowest bridge above both.
std::size_t bridges_below(const Device& device, std::size_t common) {
  const std::size_t bridges = device.pci.path.size() - 1;
  return bridges > common ? bridges - common : 0;
}

Nearness below_one_bridge(const Device& one, const Device& other, std::size_t common) {
  const std::size_t most = std::max(bridges_below(one, common), bridges_below(other, common));
  return most <= 1 ? Nearness::Pix : Nearness::Pxb;
}

std::optional<Nearness> between_bridges(const Device& one, const Device& other, int numa_nodes) {
  if (numa_nodes == 1) {
    return Nearness::Node;
  }
  if (!one.pci.numa_node || !other.pci.numa_node) {
    return std::nullopt;
  }
  return one.pci.numa_node == other.pci.numa_node ? Nearness::Node : Nearness::Sys;
}

std::optional<Nearest> nearest_among(const Slots& slots, std::size_t gpu, bool only_up) {
  std::optional<Nearest> nearest;
  for (std::size_t i = 0; i < slots.devices.size(); ++i) {
    const Device& device = slots.devices[i];
    if (device.kind == Kind::Gpu || (only_up && !device.is_up)) {
      continue;
    }
    const auto nearness = nearness_of(slots.devices[gpu], device, slots.numa_nodes);
    if (!nearness || (nearest && *nearness > nearest->nearness)) {
      continue;
    }
    if (!nearest || *nearness < nearest->nearness) {
      nearest = Nearest{.devices = {}, .nearness = *nearness};
    }
    nearest->devices.push_back(i);
  }
  return nearest;
}

}  // namespace

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

std::string labels_of(const Slots& slots, const std::vector<std::size_t>& numbers) {
  std::vector<std::string> labels;
  for (const std::size_t number : numbers) {
    labels.push_back(label_of(slots.devices[number]));
  }
  return fmt::format("{}", fmt::join(labels, ", "));
}

std::string_view meaning_of(Nearness nearness) {
  constexpr std::array<std::string_view, 6> kMeanings{"one card",
                                                      "through one bridge or switch",
                                                      "through several bridges, not the processor",
                                                      "through the processor's host bridge",
                                                      "between host bridges of one NUMA node",
                                                      "between NUMA nodes"};
  return kMeanings.at(static_cast<std::size_t>(nearness));
}

std::optional<Nearness> nearness_of(const Device& one, const Device& other, int numa_nodes) {
  if (card_of(one.address) == card_of(other.address)) {
    return Nearness::Same;
  }
  if (one.pci.path.empty() || other.pci.path.empty()) {
    return std::nullopt;
  }
  if (const std::size_t common = common_bridges(one.pci.path, other.pci.path)) {
    return below_one_bridge(one, other, common);
  }
  return host_bridge_of(one) == host_bridge_of(other) ? std::optional(Nearness::Phb)
                                                      : between_bridges(one, other, numa_nodes);
}

std::vector<Affinity> affinity_of(const Slots& slots) {
  std::vector<Affinity> list;
  for (std::size_t one = 0; one < slots.devices.size(); ++one) {
    for (std::size_t other = one + 1; other < slots.devices.size(); ++other) {
      list.push_back(
          {one, other, nearness_of(slots.devices[one], slots.devices[other], slots.numa_nodes)});
    }
  }
  return list;
}

std::optional<Nearest> nearest_to(const Slots& slots, std::size_t gpu) {
  auto nearest = nearest_among(slots, gpu, true);
  return nearest ? nearest : nearest_among(slots, gpu, false);
}

}  // namespace chokepoint::probe::pcie
