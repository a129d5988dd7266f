#include "capture/counter/gpu_session.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "base/host/nvml.h"

namespace chokepoint::capture::counter {
namespace {

namespace nvml = host::nvml;

using nvml::Device;
using nvml::FieldValue;

// A GPU's NVLinks: how many are up, what they moved and what went wrong on them. Whether a GPU has
// any is read once. Used on the session's thread; the session outlives it.
class Nvlink {
 public:
  Nvlink(const nvml::Session& session, Device device)
      : session_(&session), device_(device), has_any_(active_links().has_value()) {}

  NvlinkReading read() const;

 private:
  std::optional<double> active_links() const;
  void read_counters(NvlinkReading& reading) const;

  const nvml::Session* session_;
  Device device_;
  bool has_any_;
};

constexpr std::uint64_t kKib = 1024;

std::optional<std::uint64_t> number_of(const FieldValue& field) {
  if (field.result != 0) {
    return std::nullopt;
  }
  switch (field.type) {
    case nvml::ValueType::Double:
      return static_cast<std::uint64_t>(std::bit_cast<double>(field.value));
    case nvml::ValueType::Unsigned:
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

std::optional<double> Nvlink::active_links() const {
  std::optional<double> active;
  for (unsigned link = 0; link < nvml::kMaxNvlinks; ++link) {
    if (const auto state = session_->read(nvml::kNvlinkState, device_, link)) {
      active = active.value_or(0) + (*state != 0 ? 1 : 0);
    }
  }
  return active;
}

void Nvlink::read_counters(NvlinkReading& reading) const {
  using enum nvml::Field;
  constexpr std::array kFields{NvlinkSentKib,       NvlinkReceivedKib, NvlinkFlitCrcErrors,
                               NvlinkDataCrcErrors, NvlinkReplays,     NvlinkRecoveries};
  std::array<FieldValue, kFields.size()> values{};
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    values[i].field = kFields[i];
    values[i].scope = i < 2 ? nvml::kAllLinks : 0;
    values[i].result = -1;
  }
  if (!session_->call(nvml::kFieldValues, device_, static_cast<int>(values.size()),
                      values.data())) {
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
// the later one becomes the next reading's earlier one. Used on the session's thread; the session
// outlives it.
class Gpm {
 public:
  // Null if the library or the GPU does not support it.
  static std::unique_ptr<Gpm> of(const nvml::Session& session, Device device);
  Gpm(const Gpm&) = delete;
  Gpm& operator=(const Gpm&) = delete;
  ~Gpm();

  void read(GpuReading& reading);

 private:
  Gpm(const nvml::Session& session, Device device) : session_(session), device_(device) {}
  bool take(nvml::GpmSample sample) const {
    return session_.call(nvml::kGpmSample, device_, sample);
  }

  const nvml::Session& session_;
  Device device_;
  nvml::GpmSample earlier_ = nullptr;
  nvml::GpmSample later_ = nullptr;
  bool has_earlier_ = false;
  std::unique_ptr<nvml::GpmRequest> request_ = std::make_unique<nvml::GpmRequest>();
};

constexpr double kMib = 1 << 20;

std::optional<double> bytes_per_s(const nvml::GpmValue& value) {
  return value.result == 0 ? std::optional(value.value * kMib) : std::nullopt;
}

std::optional<double> percent(const nvml::GpmValue& value) {
  return value.result == 0 && value.value >= 0 && value.value <= 100 ? std::optional(value.value)
                                                                     : std::nullopt;
}

std::unique_ptr<Gpm> Gpm::of(const nvml::Session& session, Device device) {
  nvml::GpmSupport support{.version = nvml::kGpmVersion, .is_supported = 0};
  if (!session.call(nvml::kGpmSupport, device, &support) || support.is_supported == 0) {
    return nullptr;
  }
  std::unique_ptr<Gpm> gpm(new Gpm(session, device));
  if (!session.call(nvml::kGpmAllocate, &gpm->earlier_) ||
      !session.call(nvml::kGpmAllocate, &gpm->later_)) {
    return nullptr;
  }
  gpm->has_earlier_ = gpm->take(gpm->earlier_);
  return gpm;
}

Gpm::~Gpm() {
  for (const nvml::GpmSample sample : {earlier_, later_}) {
    if (sample != nullptr) {
      session_.call(nvml::kGpmFree, sample);
    }
  }
}

void Gpm::read(GpuReading& reading) {
  if (!take(later_)) {
    return;
  }
  nvml::GpmRequest& request = *request_;
  request.version = nvml::kGpmVersion;
  request.count = 5;
  request.earlier = earlier_;
  request.later = later_;
  request.values[0].metric = nvml::GpmMetric::PcieSent;
  request.values[1].metric = nvml::GpmMetric::PcieReceived;
  request.values[2].metric = nvml::GpmMetric::NvlinkSent;
  request.values[3].metric = nvml::GpmMetric::NvlinkReceived;
  request.values[4].metric = nvml::GpmMetric::GraphicsUtilisation;
  if (has_earlier_ && session_.call(nvml::kGpmMetrics, &request)) {
    reading.pcie_sent_bytes_per_s = bytes_per_s(request.values[0]);
    reading.pcie_received_bytes_per_s = bytes_per_s(request.values[1]);
    reading.nvlink_sent_bytes_per_s = bytes_per_s(request.values[2]);
    reading.nvlink_received_bytes_per_s = bytes_per_s(request.values[3]);
    reading.kernels_percent = percent(request.values[4]);
  }
  std::swap(earlier_, later_);
  has_earlier_ = true;
}

class NvmlSession final : public GpuSession {
 public:
  explicit NvmlSession(std::unique_ptr<nvml::Session> session);

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

  GpuReading read_gpu(Gpu& gpu) const;
  void read_load(Device device, GpuReading& reading) const;
  void read_clocks(Device device, GpuReading& reading) const;
  void read_link(Device device, GpuReading& reading) const;
  void read_throughput(Gpu& gpu, GpuReading& reading) const;
  std::vector<std::uint64_t> pids_of(Device device) const;

  std::unique_ptr<nvml::Session> session_;
  std::vector<Gpu> gpus_;  // they use the session
};

NvmlSession::NvmlSession(std::unique_ptr<nvml::Session> session) : session_(std::move(session)) {
  const unsigned count = session_->devices();
  for (unsigned index = 0; index < count; ++index) {
    const std::optional<Device> device = session_->device(index);
    const auto address = device ? session_->address(*device) : std::nullopt;
    if (address) {
      gpus_.push_back({*address, *device, Gpm::of(*session_, *device), Nvlink(*session_, *device)});
    }
  }
}

void NvmlSession::read_load(Device device, GpuReading& reading) const {
  if (const auto rates = session_->read(nvml::kUtilisation, device)) {
    reading.busy_percent = rates->gpu;
    reading.memory_busy_percent = rates->memory;
  }
  if (const auto memory = session_->read(nvml::kMemory, device)) {
    reading.memory_bytes = static_cast<double>(memory->used);
  }
}

void NvmlSession::read_clocks(Device device, GpuReading& reading) const {
  constexpr double kMilli = 1e-3;
  reading.clock_mhz = session_->read(nvml::kClock, device, nvml::Clock::Sm);
  reading.max_clock_mhz = session_->read(nvml::kMaxClock, device, nvml::Clock::Sm);
  reading.memory_clock_mhz = session_->read(nvml::kClock, device, nvml::Clock::Memory);
  reading.max_memory_clock_mhz = session_->read(nvml::kMaxClock, device, nvml::Clock::Memory);
  reading.temperature_c = session_->read(nvml::kTemperature, device, nvml::Sensor::Gpu);
  if (const auto milliwatts = session_->read(nvml::kPower, device)) {
    reading.power_w = *milliwatts * kMilli;
  }
  if (const auto milliwatts = session_->read(nvml::kPowerLimit, device)) {
    reading.power_limit_w = *milliwatts * kMilli;
  }
  const auto reasons = session_->read(nvml::kThrottleReasons, device);
  reading.throttle_reasons = reasons ? reasons : session_->read(nvml::kOldThrottleReasons, device);
}

void NvmlSession::read_link(Device device, GpuReading& reading) const {
  reading.pcie_generation = session_->read(nvml::kGeneration, device);
  reading.pcie_width = session_->read(nvml::kWidth, device);
  reading.pcie_max_generation = session_->read(nvml::kMaxGeneration, device);
  reading.pcie_max_width = session_->read(nvml::kMaxWidth, device);
  reading.replays = session_->read(nvml::kReplays, device);
}

// GPM covers all the time between two readings, the older call only 20 ms of it.
void NvmlSession::read_throughput(Gpu& gpu, GpuReading& reading) const {
  if (gpu.gpm) {
    gpu.gpm->read(reading);
    return;
  }
  using enum nvml::PcieCounter;
  constexpr double kBytes = 1000;
  const auto bytes_per_s = [](unsigned kilobytes) { return kilobytes * kBytes; };
  reading.pcie_sent_bytes_per_s =
      session_->read(nvml::kPcieThroughput, gpu.device, Sent).transform(bytes_per_s);
  reading.pcie_received_bytes_per_s =
      session_->read(nvml::kPcieThroughput, gpu.device, Received).transform(bytes_per_s);
}

std::vector<std::uint64_t> NvmlSession::pids_of(Device device) const {
  std::array<nvml::ProcessInfo, 64> processes{};
  unsigned count = processes.size();
  // A driver without the newer function has the older one.
  if (!session_->call(nvml::kProcesses, device, &count, processes.data())) {
    count = processes.size();
    if (!session_->call(nvml::kOldProcesses, device, &count, processes.data())) {
      return {};
    }
  }
  std::vector<std::uint64_t> pids;
  for (unsigned i = 0; i < std::min<std::size_t>(count, processes.size()); ++i) {
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

}  // namespace

Result<std::unique_ptr<GpuSession>> GpuSession::open(const std::string& name) {
  TRY(auto session, nvml::Session::open(name));
  return std::make_unique<NvmlSession>(std::move(session));
}

}  // namespace chokepoint::capture::counter
