// The part of NVML's C interface that is needed, declared here because its header is on few hosts.
// Names and layouts have been the same since driver 384.

#include "base/host/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/host/gpu.h"
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

std::optional<int> field_of(const sys::Library& nvml, Device device, const char* name) {
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
  const std::optional<int> state = field_of(nvml, device, "nvmlDeviceGetPerformanceState");
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
      .generation = field_of(nvml, device, "nvmlDeviceGetCurrPcieLinkGeneration"),
      .max_generation = field_of(nvml, device, "nvmlDeviceGetMaxPcieLinkGeneration"),
      .width = field_of(nvml, device, "nvmlDeviceGetCurrPcieLinkWidth"),
      .max_width = field_of(nvml, device, "nvmlDeviceGetMaxPcieLinkWidth"),
      .performance_state = performance_state_of(nvml, device),
      .utilisation_percent = utilisation_of(nvml, device),
      .replays = field_of(nvml, device, "nvmlDeviceGetPcieReplayCounter"),
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
  TRY(sys::Library nvml, sys::Library::open(library));
  auto* init = nvml.function<Return()>("nvmlInit_v2");
  auto* shutdown = nvml.function<Return()>("nvmlShutdown");
  auto* count = nvml.function<Return(unsigned*)>("nvmlDeviceGetCount_v2");
  if (init == nullptr || shutdown == nullptr || count == nullptr) {
    return fail(ErrorKind::Unsupported, kOperation, library, "lacks functions of driver 384");
  }
  if (const Return code = init(); code != 0) {
    return fail(ErrorKind::Io, kOperation, library, reason_of(nvml, code), "nvidia-smi");
  }
  GpuStates states{.source = kOperation, .driver_version = driver_of(nvml), .gpus = {}};
  unsigned number = 0;
  if (count(&number) == 0) {
    for (unsigned index = 0; index < number; ++index) {
      if (std::optional<GpuState> gpu = read_gpu(nvml, index)) {
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

Result<NvmlLinks> NvmlLinks::open(const std::string& library) {
  TRY(auto opened, sys::Library::open(library));
  auto* init = opened.function<Return()>("nvmlInit_v2");
  auto* shutdown = opened.function<Return()>("nvmlShutdown");
  NvmlLinks links(std::move(opened));
  if (init == nullptr || shutdown == nullptr || !links.find()) {
    return fail(ErrorKind::Unsupported, "NVML", library, "lacks functions of driver 384");
  }
  if (const Return code = init(); code != 0) {
    return fail(ErrorKind::Io, "NVML", library, "error " + std::to_string(code), "nvidia-smi");
  }
  links.is_open_ = true;
  return links;
}

bool NvmlLinks::find() {
  by_address_ = library_.function<Return(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  generation_ = library_.function<GetUnsigned>("nvmlDeviceGetCurrPcieLinkGeneration");
  width_ = library_.function<GetUnsigned>("nvmlDeviceGetCurrPcieLinkWidth");
  replays_ = library_.function<GetUnsigned>("nvmlDeviceGetPcieReplayCounter");
  return by_address_ != nullptr && generation_ != nullptr && width_ != nullptr;
}

NvmlLinks::NvmlLinks(NvmlLinks&& other) noexcept
    : library_(std::move(other.library_)),
      by_address_(other.by_address_),
      generation_(other.generation_),
      width_(other.width_),
      replays_(other.replays_),
      is_open_(std::exchange(other.is_open_, false)) {}

NvmlLinks::~NvmlLinks() {
  if (is_open_) {
    library_.function<Return()>("nvmlShutdown")();
  }
}

LinkNow NvmlLinks::read(const std::string& address) const {
  Device device = nullptr;
  LinkNow now;
  if (by_address_(address.c_str(), &device) != 0) {
    return now;
  }
  unsigned value = 0;
  if (generation_(device, &value) == 0) {
    now.link.speed_gts = speed_of_generation(static_cast<int>(value));
  }
  if (width_(device, &value) == 0 && value > 0 && value <= 32) {
    now.link.width = static_cast<int>(value);
  }
  if (replays_ != nullptr && replays_(device, &value) == 0) {
    now.replays = value;
  }
  return now;
}

}  // namespace chokepoint::host
