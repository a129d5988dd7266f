// GPUs as NVML reports them: load, clocks, PCIe, NVLink, and rates by GPM.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "base/host/gpu.h"
#include "base/sys/library.h"
#include "capture/counter/gpu.h"

namespace chokepoint::capture::counter {
namespace {

// The part of NVML's C interface that is needed here, declared because its header is on few hosts:
// names, layouts and numbers as they have been since driver 384, GPM's since 520.
namespace nvml {

using Return = int;  // 0 is success
using Device = struct OpaqueDevice*;
using GpmSample = struct OpaqueGpmSample*;

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

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

// As nvmlDeviceGetComputeRunningProcesses_v3 and _v2 fill it in.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kGpuTemperature = 0;  // the sensor

// Of nvmlDeviceGetFieldValues. CRC errors, replays and recoveries are of all links together.
enum class Field : unsigned {
  NvlinkFlitCrcErrors = 38,
  NvlinkDataCrcErrors = 45,
  NvlinkReplays = 52,
  NvlinkRecoveries = 59,
  NvlinkSentKib = 138,
  NvlinkReceivedKib = 139,
};
constexpr unsigned kAllLinks = ~0U;  // a field's scope
constexpr unsigned kMostLinks = 18;

enum class ValueType : unsigned {
  Double = 0,
  Unsigned = 1,
  UnsignedLong = 2,
  UnsignedLongLong = 3
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  unsigned type;
  Return result;
  unsigned long long value;  // of a Double its bits
};
static_assert(sizeof(FieldValue) == 40);

// Of nvmlDeviceGetPcieThroughput, in KB/s over 20 ms.
constexpr unsigned kPcieSent = 0;
constexpr unsigned kPcieReceived = 1;

// Of GPM, in MiB/s between two samples.
enum class GpmMetric : unsigned {
  PcieSent = 20,
  PcieReceived = 21,
  NvlinkReceived = 60,
  NvlinkSent = 61,
};

struct GpmValue {
  unsigned metric;
  Return result;
  double value;
  std::array<const char*, 3> names;
};
static_assert(sizeof(GpmValue) == 40);

constexpr unsigned kGpmVersion = 1;

// `count` says how many values are asked for; room for all that any driver knows, in case one
// counts on it.
struct GpmRequest {
  unsigned version;
  unsigned count;
  GpmSample earlier;
  GpmSample later;
  std::array<GpmValue, 512> values;
};

struct GpmSupport {
  unsigned version;
  unsigned is_supported;
};

}  // namespace nvml

using nvml::Device;
using nvml::Field;
using nvml::FieldValue;
using nvml::GpmMetric;
using nvml::GpmSample;
using nvml::Return;
using nvml::ValueType;

// A GPU's NVLinks: how many are up, what they moved and what went wrong on them. Whether a GPU has
// any is asked once. Used on the session's thread; the library outlives it.
class Nvlink {
 public:
  Nvlink(const sys::Library& library, nvml::Device device);

  NvlinkReading read() const;

 private:
  std::optional<double> active_links() const;
  void read_counters(NvlinkReading& reading) const;

  const sys::Library* library_;
  nvml::Device device_;
  bool has_any_ = false;
};

constexpr std::uint64_t kKib = 1024;

std::optional<std::uint64_t> number_of(const FieldValue& field) {
  if (field.result != 0) {
    return std::nullopt;
  }
  switch (ValueType(field.type)) {
    case ValueType::Double:
      return static_cast<std::uint64_t>(std::bit_cast<double>(field.value));
    case ValueType::Unsigned:
      return field.value & ~0U;
    default:
      return field.value;
  }
}

std::optional<std::uint64_t> sum_of(std::optional<std::uint64_t> one,
                                    std::optional<std::uint64_t> other) {
  return one && other ? std::optional(*one + *other) : one ? one : other;
}

std::optional<std::uint64_t> bytes_of(const FieldValue& kib) {
  const auto number = number_of(kib);
  return number ? std::optional(*number * kKib) : std::nullopt;
}

Nvlink::Nvlink(const sys::Library& library, Device device) : library_(&library), device_(device) {
  has_any_ = active_links().has_value();
}

std::optional<double> Nvlink::active_links() const {
  auto* state = library_->function<Return(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState");
  std::optional<double> active;
  for (unsigned link = 0; state != nullptr && link < nvml::kMostLinks; ++link) {
    unsigned is_active = 0;
    if (state(device_, link, &is_active) == 0) {
      active = active.value_or(0) + (is_active != 0 ? 1 : 0);
    }
  }
  return active;
}

void Nvlink::read_counters(NvlinkReading& reading) const {
  constexpr std::array kFields{Field::NvlinkSentKib,       Field::NvlinkReceivedKib,
                               Field::NvlinkFlitCrcErrors, Field::NvlinkDataCrcErrors,
                               Field::NvlinkReplays,       Field::NvlinkRecoveries};
  std::array<FieldValue, kFields.size()> values{};
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    values[i].field = std::to_underlying(kFields[i]);
    values[i].scope = i < 2 ? nvml::kAllLinks : 0;
    values[i].result = -1;
  }
  auto* get = library_->function<Return(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues");
  if (get == nullptr || get(device_, static_cast<int>(values.size()), values.data()) != 0) {
    return;
  }
  reading.sent_bytes = bytes_of(values[0]);
  reading.received_bytes = bytes_of(values[1]);
  reading.crc_errors = sum_of(number_of(values[2]), number_of(values[3]));
  reading.replays = number_of(values[4]);
  reading.recoveries = number_of(values[5]);
}

NvlinkReading Nvlink::read() const {
  NvlinkReading reading;
  if (has_any_) {
    reading.active = active_links();
    read_counters(reading);
  }
  return reading;
}

// NVIDIA's GPU performance monitoring (Hopper and later): mean rates between two samples, of which
// the later one becomes the next reading's earlier one. Used on the session's thread; the library
// outlives it.
class Gpm {
 public:
  // Null if the library or the GPU does not support it.
  static std::unique_ptr<Gpm> of(const sys::Library& library, nvml::Device device);
  Gpm(const Gpm&) = delete;
  Gpm& operator=(const Gpm&) = delete;
  ~Gpm();

  void read(GpuReading& reading);

 private:
  Gpm(const sys::Library& library, nvml::Device device) : library_(library), device_(device) {}
  bool take(nvml::GpmSample sample) const;

  const sys::Library& library_;
  nvml::Device device_;
  nvml::GpmSample earlier_ = nullptr;
  nvml::GpmSample later_ = nullptr;
  bool has_earlier_ = false;
  std::unique_ptr<nvml::GpmRequest> request_ = std::make_unique<nvml::GpmRequest>();
};

constexpr double kMib = 1 << 20;

bool is_supported(const sys::Library& library, Device device) {
  auto* query = library.function<Return(Device, nvml::GpmSupport*)>("nvmlGpmQueryDeviceSupport");
  nvml::GpmSupport support{.version = nvml::kGpmVersion, .is_supported = 0};
  return query != nullptr && query(device, &support) == 0 && support.is_supported != 0;
}

bool allocate(const sys::Library& library, GpmSample& sample) {
  auto* alloc = library.function<Return(GpmSample*)>("nvmlGpmSampleAlloc");
  return alloc != nullptr && alloc(&sample) == 0;
}

std::optional<double> bytes_per_s(const nvml::GpmValue& value) {
  return value.result == 0 ? std::optional(value.value * kMib) : std::nullopt;
}

std::unique_ptr<Gpm> Gpm::of(const sys::Library& library, Device device) {
  if (!is_supported(library, device)) {
    return nullptr;
  }
  std::unique_ptr<Gpm> gpm(new Gpm(library, device));
  const bool has_room = allocate(library, gpm->earlier_) && allocate(library, gpm->later_);
  if (!has_room || library.function<Return(nvml::GpmRequest*)>("nvmlGpmMetricsGet") == nullptr) {
    return nullptr;
  }
  gpm->has_earlier_ = gpm->take(gpm->earlier_);
  return gpm;
}

Gpm::~Gpm() {
  auto* release = library_.function<Return(GpmSample)>("nvmlGpmSampleFree");
  for (const GpmSample sample : {earlier_, later_}) {
    if (release != nullptr && sample != nullptr) {
      release(sample);
    }
  }
}

bool Gpm::take(GpmSample sample) const {
  auto* get = library_.function<Return(Device, GpmSample)>("nvmlGpmSampleGet");
  return get != nullptr && get(device_, sample) == 0;
}

void Gpm::read(GpuReading& reading) {
  if (!take(later_)) {
    return;
  }
  nvml::GpmRequest& request = *request_;
  request.version = nvml::kGpmVersion;
  request.count = 4;
  request.earlier = earlier_;
  request.later = later_;
  request.values[0].metric = std::to_underlying(GpmMetric::PcieSent);
  request.values[1].metric = std::to_underlying(GpmMetric::PcieReceived);
  request.values[2].metric = std::to_underlying(GpmMetric::NvlinkSent);
  request.values[3].metric = std::to_underlying(GpmMetric::NvlinkReceived);
  auto* get = library_.function<Return(nvml::GpmRequest*)>("nvmlGpmMetricsGet");
  if (has_earlier_ && get(&request) == 0) {
    reading.pcie_sent_bytes_per_s = bytes_per_s(request.values[0]);
    reading.pcie_received_bytes_per_s = bytes_per_s(request.values[1]);
    reading.nvlink_sent_bytes_per_s = bytes_per_s(request.values[2]);
    reading.nvlink_received_bytes_per_s = bytes_per_s(request.values[3]);
  }
  std::swap(earlier_, later_);
  has_earlier_ = true;
}

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

  // True if the function exists and succeeds.
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
