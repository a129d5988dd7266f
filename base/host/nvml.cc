// The part of NVML's C interface that is needed, declared here because its header is on few hosts.
// Names and layouts have been the same since driver 384.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/host/gpu_state.h"
#include "base/sys/library.h"

namespace chokepoint::host {
namespace {

using Return = int;  // 0 is success
using Device = struct OpaqueDevice*;

struct PciInfo {
  std::array<char, 16> legacy_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(PciInfo) == 68);

struct Utilisation {
  unsigned gpu;
  unsigned memory;
};

constexpr const char* kOperation = "NVML";

using GetUnsigned = Return(Device, unsigned*);
using GetText = Return(Device, char*, unsigned);

std::optional<int> number_of(const sys::Library& nvml, Device device, const char* name) {
  auto* get = nvml.function<GetUnsigned>(name);
  unsigned value = 0;
  return get != nullptr && get(device, &value) == 0 ? std::optional(static_cast<int>(value))
                                                    : std::nullopt;
}

std::optional<std::string> name_of(const sys::Library& nvml, Device device) {
  auto* get = nvml.function<GetText>("nvmlDeviceGetName");
  std::array<char, 96> text{};
  return get != nullptr && get(device, text.data(), text.size()) == 0
             ? std::optional<std::string>(text.data())
             : std::nullopt;
}

std::optional<int> utilisation_of(const sys::Library& nvml, Device device) {
  auto* get = nvml.function<Return(Device, Utilisation*)>("nvmlDeviceGetUtilizationRates");
  Utilisation rates{};
  return get != nullptr && get(device, &rates) == 0 ? std::optional(static_cast<int>(rates.gpu))
                                                    : std::nullopt;
}

// 32 is NVML's word for a state that is not known.
std::optional<int> performance_state_of(const sys::Library& nvml, Device device) {
  const std::optional<int> state = number_of(nvml, device, "nvmlDeviceGetPerformanceState");
  return state && *state < 32 ? state : std::nullopt;
}

std::optional<GpuState> read_gpu(const sys::Library& nvml, unsigned index) {
  auto* by_index = nvml.function<Return(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
  auto* pci_info = nvml.function<Return(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3");
  Device device = nullptr;
  PciInfo pci{};
  if (by_index == nullptr || pci_info == nullptr || by_index(index, &device) != 0 ||
      pci_info(device, &pci) != 0) {
    return std::nullopt;
  }
  return GpuState{
      .address = pci_address_of(pci.bus_id.data()),
      .name = name_of(nvml, device),
      .generation = number_of(nvml, device, "nvmlDeviceGetCurrPcieLinkGeneration"),
      .max_generation = number_of(nvml, device, "nvmlDeviceGetMaxPcieLinkGeneration"),
      .width = number_of(nvml, device, "nvmlDeviceGetCurrPcieLinkWidth"),
      .max_width = number_of(nvml, device, "nvmlDeviceGetMaxPcieLinkWidth"),
      .performance_state = performance_state_of(nvml, device),
      .utilisation_percent = utilisation_of(nvml, device),
      .replays = number_of(nvml, device, "nvmlDeviceGetPcieReplayCounter"),
  };
}

std::optional<std::string> driver_of(const sys::Library& nvml) {
  auto* get = nvml.function<Return(char*, unsigned)>("nvmlSystemGetDriverVersion");
  std::array<char, 80> text{};
  return get != nullptr && get(text.data(), text.size()) == 0
             ? std::optional<std::string>(text.data())
             : std::nullopt;
}

std::string reason_of(const sys::Library& nvml, Return code) {
  auto* text = nvml.function<const char*(Return)>("nvmlErrorString");
  return text == nullptr ? fmt::format("error {}", code) : text(code);
}

}  // namespace

Result<GpuStates> ask_nvml(const std::string& library) {
  Result<sys::Library> nvml = sys::Library::open(library);
  if (!nvml) {
    return std::unexpected(nvml.error());
  }
  auto* init = nvml->function<Return()>("nvmlInit_v2");
  auto* shutdown = nvml->function<Return()>("nvmlShutdown");
  auto* count = nvml->function<Return(unsigned*)>("nvmlDeviceGetCount_v2");
  if (init == nullptr || shutdown == nullptr || count == nullptr) {
    return fail(ErrorKind::Unsupported, kOperation, library, "lacks functions of driver 384");
  }
  if (const Return code = init(); code != 0) {
    return fail(ErrorKind::Io, kOperation, library, reason_of(*nvml, code), "nvidia-smi");
  }
  GpuStates states{.source = kOperation, .driver_version = driver_of(*nvml), .gpus = {}};
  unsigned number = 0;
  if (count(&number) == 0) {
    for (unsigned index = 0; index < number; ++index) {
      if (std::optional<GpuState> gpu = read_gpu(*nvml, index)) {
        states.gpus.push_back(*std::move(gpu));
      }
    }
  }
  shutdown();
  return states;
}

std::string pci_address_of(std::string bus_id) {
  std::ranges::transform(bus_id, bus_id.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::size_t kLongDomain = 8;
  return bus_id.find(':') == kLongDomain ? bus_id.substr(4) : bus_id;
}

}  // namespace chokepoint::host
