// The NVIDIA GPUs of this host: what sysfs and /proc show of each, and over it what the driver told
// of its state. Without the driver's word it is not known whether a GPU is busy. Values; reads
// under the given root only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/host/gpu_state.h"
#include "base/host/pci_link.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Gpu {
  std::string address;  // 0000:3b:00.0
  std::optional<std::string> name;
  std::optional<std::string> driver;  // nvidia, nouveau, vfio-pci
  std::optional<int> numa_node;
  PciLink current;
  PciLink possible;  // what both ends of its link can do
  std::optional<int> performance_state;
  std::optional<int> utilisation_percent;
  std::optional<std::int64_t> replays;
  std::optional<std::string> iommu;  // "DMA", "identity": how its memory accesses are translated
  std::string source;                // where the link was read
};

struct Gpus {
  std::vector<Gpu> gpus;
  std::optional<std::string> driver_version;
  std::optional<Error> problem;  // why the driver told nothing
};

Gpus read_gpus(const sys::Root& root, const Result<GpuStates>& states);
void append_facts(const Gpus& gpus, Facts& facts);

}  // namespace chokepoint::host
