#include "base/host/gpu.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"
#include "base/host/pci.h"

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
    gpu.path = device->path;
  }
  return gpu;
}

template <class T>
void prefer(std::optional<T>& kept, const std::optional<T>& value) {
  if (value) {
    kept = value;
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

namespace {

constexpr std::array kReasons{
    ThrottleReason{kGpuIsIdle, "idle", "nothing to do", false},
    ThrottleReason{0x2, "application-clocks", "clocks set for applications", false},
    ThrottleReason{0x4, "power-cap", "its power cap", true},
    ThrottleReason{0x8, "hardware-slowdown", "a slowdown by its hardware", true},
    ThrottleReason{0x10, "sync-boost", "the clock of a GPU that it is tied to", true},
    ThrottleReason{0x20, "thermal", "its temperature", true},
    ThrottleReason{0x40, "hardware-thermal", "its temperature, by its hardware", true},
    ThrottleReason{0x80, "power-brake", "the power supply's brake", true},
    ThrottleReason{0x100, "display-clocks", "clocks set for a display", false},
};

}  // namespace

std::span<const ThrottleReason> throttle_reasons() { return kReasons; }

std::uint64_t slowing(std::uint64_t bits) {
  std::uint64_t slow = 0;
  for (const ThrottleReason& reason : kReasons) {
    slow |= reason.slows ? bits & reason.bit : 0;
  }
  return slow;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPath = "/chokepoint/nvml.json";
constexpr int kNewest = 7;  // generation
constexpr int kMaxLanes = 32;

std::optional<std::int64_t> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::optional(found->get<std::int64_t>())
             : std::nullopt;
}

// Nothing for what no link, no state and no share can be.
std::optional<int> within(const Json& object, const char* key, int least, int most) {
  const std::optional<std::int64_t> number = number_in(object, key);
  return number && *number >= least && *number <= most ? std::optional(static_cast<int>(*number))
                                                       : std::nullopt;
}

std::optional<std::string> text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

GpuState state_of(const Json& gpu) {
  return {.address = pci_address_of(text_of(gpu, "bus_id").value_or("")),
          .name = text_of(gpu, "name"),
          .generation = within(gpu, "pcie_generation", 1, kNewest),
          .max_generation = within(gpu, "pcie_max_generation", 1, kNewest),
          .width = within(gpu, "pcie_width", 1, kMaxLanes),
          .max_width = within(gpu, "pcie_max_width", 1, kMaxLanes),
          .performance_state = within(gpu, "performance_state", 0, 15),
          .utilisation_percent = within(gpu, "utilization_percent", 0, 100),
          .replays = number_in(gpu, "pcie_replays")};
}

}  // namespace

Result<GpuStates> read_recorded_gpus(const sys::Root& root) {
  TRY(const std::string text, root.read(kPath));
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("gpus") || !document["gpus"].is_array()) {
    return fail(ErrorKind::Malformed, "read", kPath, "not an object with an array \"gpus\"");
  }
  GpuStates states{.source = std::string(kPath),
                   .driver_version = text_of(document, "driver_version"),
                   .gpus = {}};
  for (const Json& gpu : document["gpus"]) {
    GpuState state = gpu.is_object() ? state_of(gpu) : GpuState();
    if (is_pci_address(state.address)) {
      states.gpus.push_back(std::move(state));
    }
  }
  return states;
}

Result<GpuStates> read_gpu_states(const sys::Root& root) {
  return root.is_live() ? ask_nvml() : read_recorded_gpus(root);
}

}  // namespace chokepoint::host
