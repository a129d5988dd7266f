// What only the GPU's driver can tell: how its link is trained now and how busy it is. The running
// host asks NVML, opened at run time; a copy of a host keeps it in /chokepoint/nvml.json:
//
//   {"driver_version": "550.54.15",
//    "gpus": [{"bus_id": "0000:3b:00.0", "name": "NVIDIA A100-PCIE-40GB",
//              "pcie_generation": 1, "pcie_max_generation": 4, "pcie_width": 16,
//              "pcie_max_width": 16, "performance_state": 8, "utilization_percent": 0,
//              "pcie_replays": 0}]}
//
// A key that is missing is a value that is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct GpuState {
  std::string address;  // 0000:3b:00.0
  std::optional<std::string> name;
  std::optional<int> generation;
  std::optional<int> max_generation;  // of this GPU in this slot
  std::optional<int> width;
  std::optional<int> max_width;
  std::optional<int> performance_state;  // 0, the fastest, to 15
  std::optional<int> utilisation_percent;
  std::optional<std::int64_t> replays;
};

struct GpuStates {
  std::string source;  // "NVML"
  std::optional<std::string> driver_version;
  std::vector<GpuState> gpus;
};

// May take seconds where no process keeps the GPUs awake.
Result<GpuStates> ask_nvml(const std::string& library = "libnvidia-ml.so.1");
Result<GpuStates> read_recorded_gpus(const sys::Root& root);
// The one of the two that fits the root.
Result<GpuStates> read_gpu_states(const sys::Root& root);

// NVML's "00000000:3B:00.0" as sysfs has it.
std::string pci_address_of(std::string bus_id);

}  // namespace chokepoint::host
