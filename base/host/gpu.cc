#include "base/host/gpu.h"

#include <algorithm>
#include <string_view>

#include "base/host/fact_list.h"
#include "base/host/pci.h"
#include "base/host/words.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices";
constexpr std::string_view kDriverVersion = "/proc/driver/nvidia/version";

bool is_gpu(const sys::Root& root, const std::string& address) {
  const std::string folder = fmt::format("{}/{}", kDevices, address);
  const std::string kind = root.text(folder + "/class").value_or("");
  return root.text(folder + "/vendor") == "0x10de" &&
         (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

// "Model: \t\t NVIDIA A100-PCIE-40GB"
std::optional<std::string> model_of(const sys::Root& root, const std::string& address) {
  const std::string path = fmt::format("/proc/driver/nvidia/gpus/{}/information", address);
  for (const std::string& line : lines_of(root.text(path).value_or(""))) {
    constexpr std::string_view kModel = "Model:";
    const std::size_t start = line.find_first_not_of(" \t", kModel.size());
    if (line.starts_with(kModel) && start != std::string::npos) {
      return line.substr(start);
    }
  }
  return std::nullopt;
}

Gpu read_gpu(const sys::Root& root, const std::string& address) {
  const std::string folder = fmt::format("{}/{}", kDevices, address);
  Gpu gpu;
  gpu.address = address;
  gpu.name = model_of(root, address);
  gpu.iommu = root.text(folder + "/iommu_group/type");
  gpu.source = folder;
  if (const std::optional<PciDevice> device = read_pci_device(root, address)) {
    gpu.driver = device->driver;
    gpu.numa_node = device->numa_node;
    if (!device->path.empty()) {
      gpu.current = device->path.back().current;
      gpu.possible = device->path.back().possible;
    }
  }
  return gpu;
}

template <class T>
void prefer(std::optional<T>& kept, const std::optional<T>& told) {
  if (told) {
    kept = told;
  }
}

void add_state(const GpuStates& states, const GpuState& state, Gpus& gpus) {
  auto gpu = std::ranges::find(gpus.gpus, state.address, &Gpu::address);
  if (gpu == gpus.gpus.end()) {
    // In a container the driver may show what sysfs does not.
    gpu = gpus.gpus.insert(gpus.gpus.end(), Gpu());
    gpu->address = state.address;
  }
  prefer(gpu->name, state.name);
  prefer(gpu->current.speed_gts, speed_of_generation(state.generation));
  prefer(gpu->current.width, state.width);
  prefer(gpu->possible.speed_gts, speed_of_generation(state.max_generation));
  prefer(gpu->possible.width, state.max_width);
  gpu->performance_state = state.performance_state;
  gpu->utilisation_percent = state.utilisation_percent;
  gpu->replays = state.replays;
  gpu->source = states.source;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 …"
std::optional<std::string> version_of(const sys::Root& root) {
  for (const std::string& word : words_of(root.text(kDriverVersion).value_or(""))) {
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
  }
  return std::nullopt;
}

}  // namespace

Gpus read_gpus(const sys::Root& root, const Result<GpuStates>& states) {
  Gpus gpus;
  for (const std::string& address : root.list(kDevices)) {
    if (is_gpu(root, address)) {
      gpus.gpus.push_back(read_gpu(root, address));
    }
  }
  gpus.driver_version = version_of(root);
  if (!states) {
    gpus.problem = states.error();
    return gpus;
  }
  prefer(gpus.driver_version, states->driver_version);
  for (const GpuState& state : states->gpus) {
    add_state(*states, state, gpus);
  }
  return gpus;
}

void append_facts(const Gpus& gpus, Facts& facts) {
  FactList(facts, "gpu").add("driver_version", gpus.driver_version, kDriverVersion);
  for (const Gpu& gpu : gpus.gpus) {
    FactList list(facts, "gpu", gpu.address);
    list.add("name", gpu.name, gpu.source);
    list.add("driver", gpu.driver, gpu.source);
    list.add("numa_node", gpu.numa_node, gpu.source);
    list.add("speed_gts", gpu.current.speed_gts, gpu.source);
    list.add("width", gpu.current.width, gpu.source);
    list.add("max_speed_gts", gpu.possible.speed_gts, gpu.source);
    list.add("max_width", gpu.possible.width, gpu.source);
    list.add("performance_state", gpu.performance_state, gpu.source);
    list.add("utilisation_percent", gpu.utilisation_percent, gpu.source);
    list.add("replays", gpu.replays, gpu.source);
    list.add("iommu", gpu.iommu, fmt::format("{}/{}/iommu_group/type", kDevices, gpu.address));
  }
}

}  // namespace chokepoint::host
