// The NVIDIA GPUs of this host: what sysfs and /proc show of each, and what the driver reports of
// its state. Without the driver it is not known whether a GPU is in use. Values; reads under the
// given root only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/host/pci.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// What only the GPU's driver reports: how its link is trained now and its utilisation. The running
// host calls NVML, opened at run time; a copy of a host keeps it in /chokepoint/nvml.json:
//
//   {"driver_version": "550.54.15",
//    "gpus": [{"bus_id": "0000:3b:00.0", "name": "NVIDIA A100-PCIE-40GB",
//              "pcie_generation": 1, "pcie_max_generation": 4, "pcie_width": 16,
//              "pcie_max_width": 16, "performance_state": 8, "utilization_percent": 0,
//              "pcie_replays": 0}]}
//
// A key that is missing is a value that is not known.

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
  std::vector<PciHop> path;          // root port first; empty where sysfs does not show the GPU
  std::string source;                // where the link was read
};

struct Gpus {
  std::vector<Gpu> gpus;
  std::optional<std::string> driver_version;
  std::optional<Error> problem;  // why the driver reported nothing
};

Gpus read_gpus(const sys::Root& root, const Result<GpuStates>& states);
void append_facts(const Gpus& gpus, Facts& facts);

// Why a GPU's driver keeps it below its clocks, by NVML's bits: what they are called in records and
// documents, in words, and which of them slow a working GPU down. An idle GPU's low clock, and
// clocks that were set on purpose, have bits, too, but are no slowdown. Constants.

struct ThrottleReason {
  std::uint64_t bit = 0;
  std::string_view name = {};   // "power-cap"
  std::string_view words = {};  // "its power cap"
  bool slows = false;
};

std::span<const ThrottleReason> throttle_reasons();

constexpr std::uint64_t kGpuIsIdle = 0x1;
// Of the bits those that slow a working GPU down.
std::uint64_t slowing(std::uint64_t bits);

}  // namespace chokepoint::host
