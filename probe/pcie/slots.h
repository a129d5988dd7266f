// The devices in this host's PCIe slots that move a job's data: GPUs, NICs and RDMA devices, one
// per address, with every hop above it; and how near two of them are, by what data between them
// must pass, in the terms of nvidia-smi's topology matrix. Values, read below the given root only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/documents/pcie.h"
#include "base/host/gpu.h"
#include "base/host/network.h"
#include "base/host/pci.h"
#include "base/host/rdma.h"

namespace chokepoint::probe::pcie {

using Kind = documents::PcieKind;

struct Device {
  Kind kind = Kind::Nic;
  std::string address = {};                         // 0000:3b:00.0
  std::vector<std::string> names = {};              // "eth0", "mlx5_0"; a GPU's model
  host::PciDevice pci = {};                         // its path is empty if sysfs shows none
  host::PciLink link = {};                          // of the device itself, as found
  host::PciLink possible = {};                      // what both its ends can do
  std::optional<std::int64_t> line_rate_mbps = {};  // of all ports of this function that are up
  bool is_up = false;                               // a port of it carries data
};

// With the facts that the checks need.
struct Slots {
  std::vector<Device> devices = {};  // GPUs, NICs, RDMA devices; by address within each
  host::Gpus gpus = {};
  host::Network network = {};
  std::vector<host::RdmaDevice> rdma = {};
  int numa_nodes = 0;
};

Slots read_slots(const sys::Root& root, const Result<host::GpuStates>& states);

// The names, or the address if there are none.
std::string label_of(const Device& device);
// Of the devices with these numbers, commas between them.
std::string labels_of(const Slots& slots, const std::vector<std::size_t>& numbers);

using Nearness = documents::PcieNearness;

std::string_view meaning_of(Nearness nearness);  // "one bridge or switch"

// nullopt if it is not known: between host bridges whose nodes the platform does not name.
std::optional<Nearness> nearness_of(const Device& one, const Device& other, int numa_nodes);

struct Affinity {
  std::size_t one = 0;  // by number among Slots::devices; one < other
  std::size_t other = 0;
  std::optional<Nearness> nearness = {};
};

std::vector<Affinity> affinity_of(const Slots& slots);

// The network devices that are nearest to this GPU: those that are up, else any. nullopt if it is
// not known.
struct Nearest {
  std::vector<std::size_t> devices = {};
  Nearness nearness = Nearness::Sys;
};
std::optional<Nearest> nearest_to(const Slots& slots, std::size_t gpu);

}  // namespace chokepoint::probe::pcie
