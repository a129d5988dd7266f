// What sits in this host's PCIe slots and moves a job's data: GPUs, NICs, RDMA devices, each once
// an address, with every hop above it. Values, read below the given root only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/gpu.h"
#include "base/host/network.h"
#include "base/host/pci.h"
#include "base/host/rdma.h"

namespace chokepoint::probe::pcie {

enum class Kind { Gpu, Nic, Rdma };

std::string_view name_of(Kind kind);  // "gpu"

struct Device {
  Kind kind = Kind::Nic;
  std::string address = {};                         // 0000:3b:00.0
  std::vector<std::string> names = {};              // "eth0", "mlx5_0"; a GPU's model
  host::PciDevice pci = {};                         // its path is empty where sysfs shows none
  host::PciLink link = {};                          // of the device itself, as found
  host::PciLink possible = {};                      // what both its ends can do
  std::optional<std::int64_t> line_rate_mbps = {};  // of all ports of this function that are up
  bool is_up = false;                               // a port of it carries data
};

// All that there is to know about them, kept for the checks.
struct Slots {
  std::vector<Device> devices = {};  // GPUs, NICs, RDMA devices; by address within each
  host::Gpus gpus = {};
  host::Network network = {};
  std::vector<host::RdmaDevice> rdma = {};
  int numa_nodes = 0;
};

Slots read_slots(const sys::Root& root, const Result<host::GpuStates>& states);

// The names, and the address where there are none.
std::string label_of(const Device& device);

}  // namespace chokepoint::probe::pcie
