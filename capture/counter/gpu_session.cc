#include "capture/counter/gpu_session.h"

#include <fmt/format.h>

#include <utility>

#include "base/host/gpu.h"
#include "base/sys/library.h"
#include "capture/counter/gpm.h"
#include "capture/counter/nvlink.h"
#include "capture/counter/nvml.h"

namespace chokepoint::capture::counter {
namespace {

using nvml::Device;
using nvml::Return;

constexpr const char* kOperation = "NVML";

class NvmlSession final : public GpuSession {
 public:
  explicit NvmlSession(sys::Library library) : library_(std::move(library)) { find_devices(); }
  ~NvmlSession() override {
    gpus_.clear();
    call<Return()>("nvmlShutdown");
  }

  std::vector<GpuReading> read() override {
    std::vector<GpuReading> readings;
    for (Gpu& gpu : gpus_) {
      readings.push_back(read_gpu(gpu));
    }
    return readings;
  }

 private:
  struct Gpu {
    std::string address;
    Device device;
    std::unique_ptr<Gpm> gpm;  // null where the GPU has none
    Nvlink nvlink;
  };

  // Did the function exist and succeed?
  template <class Function, class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    auto* function = library_.function<Function>(name);
    return function != nullptr && function(arguments...) == 0;
  }

  void find_devices();
  GpuReading read_gpu(Gpu& gpu) const;
  std::optional<double> number(Device device, const char* function) const;
  std::optional<double> clock(Device device, const char* function, unsigned kind) const;
  void read_load(Device device, GpuReading& reading) const;
  void read_clocks(Device device, GpuReading& reading) const;
  void read_link(Device device, GpuReading& reading) const;
  void read_throughput(Gpu& gpu, GpuReading& reading) const;
  std::optional<double> throughput(Device device, unsigned direction) const;
  std::vector<std::uint64_t> pids_of(Device device) const;

  sys::Library library_;
  std::vector<Gpu> gpus_;
};

void NvmlSession::find_devices() {
  unsigned count = 0;
  call<Return(unsigned*)>("nvmlDeviceGetCount_v2", &count);
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    nvml::PciInfo pci{};
    if (call<Return(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", index, &device) &&
        call<Return(Device, nvml::PciInfo*)>("nvmlDeviceGetPciInfo_v3", device, &pci)) {
      gpus_.push_back({host::pci_address_of(pci.bus_id.data()), device, Gpm::of(library_, device),
                       Nvlink(library_, device)});
    }
  }
}

void NvmlSession::read_load(Device device, GpuReading& reading) const {
  nvml::Utilisation rates{};
  if (call<Return(Device, nvml::Utilisation*)>("nvmlDeviceGetUtilizationRates", device, &rates)) {
    reading.busy_percent = rates.gpu;
    reading.memory_busy_percent = rates.memory;
  }
  nvml::Memory memory{};
  if (call<Return(Device, nvml::Memory*)>("nvmlDeviceGetMemoryInfo", device, &memory)) {
    reading.memory_bytes = static_cast<double>(memory.used);
  }
}

std::optional<double> NvmlSession::number(Device device, const char* function) const {
  unsigned value = 0;
  return call<Return(Device, unsigned*)>(function, device, &value) ? std::optional<double>(value)
                                                                   : std::nullopt;
}

std::optional<double> NvmlSession::clock(Device device, const char* function, unsigned kind) const {
  unsigned mhz = 0;
  return call<Return(Device, unsigned, unsigned*)>(function, device, kind, &mhz)
             ? std::optional<double>(mhz)
             : std::nullopt;
}

void NvmlSession::read_clocks(Device device, GpuReading& reading) const {
  constexpr double kMilli = 1e-3;
  reading.clock_mhz = clock(device, "nvmlDeviceGetClockInfo", nvml::kSmClock);
  reading.max_clock_mhz = clock(device, "nvmlDeviceGetMaxClockInfo", nvml::kSmClock);
  reading.memory_clock_mhz = clock(device, "nvmlDeviceGetClockInfo", nvml::kMemoryClock);
  reading.max_memory_clock_mhz = clock(device, "nvmlDeviceGetMaxClockInfo", nvml::kMemoryClock);
  reading.temperature_c = clock(device, "nvmlDeviceGetTemperature", nvml::kGpuTemperature);
  if (const auto milliwatts = number(device, "nvmlDeviceGetPowerUsage")) {
    reading.power_w = *milliwatts * kMilli;
  }
  if (const auto milliwatts = number(device, "nvmlDeviceGetEnforcedPowerLimit")) {
    reading.power_limit_w = *milliwatts * kMilli;
  }
  // The later name is of driver 535, and the earlier one may go one day.
  unsigned long long reasons = 0;
  for (const char* name :
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
    if (call<Return(Device, unsigned long long*)>(name, device, &reasons)) {
      reading.throttle_reasons = reasons;
      return;
    }
  }
}

void NvmlSession::read_link(Device device, GpuReading& reading) const {
  reading.pcie_generation = number(device, "nvmlDeviceGetCurrPcieLinkGeneration");
  reading.pcie_width = number(device, "nvmlDeviceGetCurrPcieLinkWidth");
  reading.pcie_max_generation = number(device, "nvmlDeviceGetMaxPcieLinkGeneration");
  reading.pcie_max_width = number(device, "nvmlDeviceGetMaxPcieLinkWidth");
  unsigned replays = 0;
  if (call<Return(Device, unsigned*)>("nvmlDeviceGetPcieReplayCounter", device, &replays)) {
    reading.replays = replays;
  }
}

std::optional<double> NvmlSession::throughput(Device device, unsigned direction) const {
  constexpr double kBytes = 1000;
  unsigned value = 0;
  return call<Return(Device, unsigned, unsigned*)>("nvmlDeviceGetPcieThroughput", device, direction,
                                                   &value)
             ? std::optional(value * kBytes)
             : std::nullopt;
}

// GPM looks at all the time between two readings, the older call at 20 ms of it.
void NvmlSession::read_throughput(Gpu& gpu, GpuReading& reading) const {
  if (gpu.gpm) {
    gpu.gpm->read(reading);
    return;
  }
  reading.pcie_sent_bytes_per_s = throughput(gpu.device, nvml::kPcieSent);
  reading.pcie_received_bytes_per_s = throughput(gpu.device, nvml::kPcieReceived);
}

std::vector<std::uint64_t> NvmlSession::pids_of(Device device) const {
  using Get = Return(Device, unsigned*, nvml::ProcessInfo*);
  constexpr unsigned kMost = 64;
  auto* get = library_.function<Get>("nvmlDeviceGetComputeRunningProcesses_v3");
  get = get != nullptr ? get : library_.function<Get>("nvmlDeviceGetComputeRunningProcesses_v2");
  std::vector<nvml::ProcessInfo> processes(kMost);
  unsigned count = kMost;
  if (get == nullptr || get(device, &count, processes.data()) != 0) {
    return {};
  }
  std::vector<std::uint64_t> pids;
  for (unsigned i = 0; i < std::min(count, kMost); ++i) {
    pids.push_back(processes[i].pid);
  }
  return pids;
}

GpuReading NvmlSession::read_gpu(Gpu& gpu) const {
  GpuReading reading{.address = gpu.address};
  read_load(gpu.device, reading);
  read_clocks(gpu.device, reading);
  read_throughput(gpu, reading);
  read_link(gpu.device, reading);
  reading.nvlink = gpu.nvlink.read();
  reading.pids = pids_of(gpu.device);
  return reading;
}

std::string reason_of(const sys::Library& library, Return code) {
  auto* text = library.function<const char*(Return)>("nvmlErrorString");
  return text == nullptr ? fmt::format("error {}", code) : text(code);
}

}  // namespace

Result<std::unique_ptr<GpuSession>> GpuSession::open(const std::string& name) {
  Result<sys::Library> library = sys::Library::open(name);
  if (!library) {
    return std::unexpected(library.error());
  }
  auto* init = library->function<Return()>("nvmlInit_v2");
  if (init == nullptr) {
    return fail(ErrorKind::Unsupported, kOperation, name, "lacks functions of driver 384");
  }
  if (const Return code = init(); code != 0) {
    return fail(ErrorKind::Io, kOperation, name, reason_of(*library, code), "nvidia-smi");
  }
  return std::make_unique<NvmlSession>(*std::move(library));
}

}  // namespace chokepoint::capture::counter
