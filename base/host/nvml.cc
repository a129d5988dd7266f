#include "base/host/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/host/gpu.h"

namespace chokepoint::host {
namespace nvml {

Result<std::unique_ptr<Session>> Session::open(const std::string& library) {
  TRY(sys::Library opened, sys::Library::open(library));
  auto* init = opened.function<decltype(kInit)::Type>(kInit.name);
  if (init == nullptr) {
    return fail(ErrorKind::Unsupported, "NVML", library, "lacks functions of driver 384");
  }
  if (const Return code = init(); code != 0) {
    auto* text = opened.function<decltype(kErrorString)::Type>(kErrorString.name);
    return fail(ErrorKind::Io, "NVML", library,
                text == nullptr ? fmt::format("error {}", code) : text(code), "nvidia-smi");
  }
  return std::unique_ptr<Session>(new Session(std::move(opened)));
}

unsigned Session::devices() const {
  unsigned count = 0;
  return call(kDeviceCount, &count) ? count : 0;
}

std::optional<Device> Session::device(unsigned index) const {
  Device device = nullptr;
  return call(kByIndex, index, &device) ? std::optional(device) : std::nullopt;
}

std::optional<std::string> Session::address(Device device) const {
  const std::optional<PciInfo> pci = read(kPciInfo, device);
  return pci ? std::optional(pci_address_of(pci->bus_id.data())) : std::nullopt;
}

}  // namespace nvml

namespace {

std::optional<int> as_int(std::optional<unsigned> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<GpuState> read_gpu(const nvml::Session& nvml, unsigned index) {
  const std::optional<nvml::Device> device = nvml.device(index);
  const std::optional<std::string> address = device ? nvml.address(*device) : std::nullopt;
  if (!address) {
    return std::nullopt;
  }
  std::array<char, 96> name{};
  const bool has_name = nvml.call(nvml::kName, *device, name.data(), name.size());
  const auto state = nvml.read(nvml::kPerformanceState, *device);
  const auto load = nvml.read(nvml::kUtilisation, *device);
  return GpuState{
      .address = *address,
      .name = has_name ? std::optional<std::string>(name.data()) : std::nullopt,
      .generation = as_int(nvml.read(nvml::kGeneration, *device)),
      .max_generation = as_int(nvml.read(nvml::kMaxGeneration, *device)),
      .width = as_int(nvml.read(nvml::kWidth, *device)),
      .max_width = as_int(nvml.read(nvml::kMaxWidth, *device)),
      .performance_state = state < nvml::kUnknownPerformanceState ? state : std::nullopt,
      .utilisation_percent = load ? as_int(load->gpu) : std::nullopt,
      .replays = nvml.read(nvml::kReplays, *device),
  };
}

}  // namespace

Result<GpuStates> ask_nvml(const std::string& library) {
  TRY(const auto nvml, nvml::Session::open(library));
  std::array<char, 80> version{};
  GpuStates states{.source = "NVML", .driver_version = {}, .gpus = {}};
  if (nvml->call(nvml::kDriverVersion, version.data(), version.size())) {
    states.driver_version = version.data();
  }
  const unsigned count = nvml->devices();
  for (unsigned index = 0; index < count; ++index) {
    if (std::optional<GpuState> gpu = read_gpu(*nvml, index)) {
      states.gpus.push_back(*std::move(gpu));
    }
  }
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
  TRY(auto session, nvml::Session::open(library));
  return NvmlLinks(std::move(session));
}

LinkNow NvmlLinks::read(const std::string& address) const {
  nvml::Device device = nullptr;
  LinkNow now;
  if (!session_->call(nvml::kByAddress, address.c_str(), &device)) {
    return now;
  }
  now.link.speed_gts = speed_of_generation(as_int(session_->read(nvml::kGeneration, device)));
  const std::optional<int> width = as_int(session_->read(nvml::kWidth, device));
  now.link.width = width > 0 && width <= 32 ? width : std::nullopt;
  now.replays = session_->read(nvml::kReplays, device);
  return now;
}

}  // namespace chokepoint::host

// An older header lacks some of it.
#if __has_include(<nvml.h>)
#include <nvml.h>
#if defined(nvmlClocksEventReasonGpuIdle)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
namespace chokepoint::host::nvml {
namespace {

#define CHOKEPOINT_SAME(own, theirs) \
  static_assert(sys::kSameType<decltype(own)::Type*, decltype(&theirs)>, #theirs)
CHOKEPOINT_SAME(kInit, nvmlInit_v2);
CHOKEPOINT_SAME(kShutdown, nvmlShutdown);
CHOKEPOINT_SAME(kErrorString, nvmlErrorString);
CHOKEPOINT_SAME(kDriverVersion, nvmlSystemGetDriverVersion);
CHOKEPOINT_SAME(kDeviceCount, nvmlDeviceGetCount_v2);
CHOKEPOINT_SAME(kByIndex, nvmlDeviceGetHandleByIndex_v2);
CHOKEPOINT_SAME(kByAddress, nvmlDeviceGetHandleByPciBusId_v2);
CHOKEPOINT_SAME(kName, nvmlDeviceGetName);
CHOKEPOINT_SAME(kPciInfo, nvmlDeviceGetPciInfo_v3);
CHOKEPOINT_SAME(kUtilisation, nvmlDeviceGetUtilizationRates);
CHOKEPOINT_SAME(kMemory, nvmlDeviceGetMemoryInfo);
CHOKEPOINT_SAME(kPerformanceState, nvmlDeviceGetPerformanceState);
CHOKEPOINT_SAME(kGeneration, nvmlDeviceGetCurrPcieLinkGeneration);
CHOKEPOINT_SAME(kMaxGeneration, nvmlDeviceGetMaxPcieLinkGeneration);
CHOKEPOINT_SAME(kWidth, nvmlDeviceGetCurrPcieLinkWidth);
CHOKEPOINT_SAME(kMaxWidth, nvmlDeviceGetMaxPcieLinkWidth);
CHOKEPOINT_SAME(kReplays, nvmlDeviceGetPcieReplayCounter);
CHOKEPOINT_SAME(kPower, nvmlDeviceGetPowerUsage);
CHOKEPOINT_SAME(kPowerLimit, nvmlDeviceGetEnforcedPowerLimit);
CHOKEPOINT_SAME(kThrottleReasons, nvmlDeviceGetCurrentClocksEventReasons);
CHOKEPOINT_SAME(kClock, nvmlDeviceGetClockInfo);
CHOKEPOINT_SAME(kMaxClock, nvmlDeviceGetMaxClockInfo);
CHOKEPOINT_SAME(kTemperature, nvmlDeviceGetTemperature);
CHOKEPOINT_SAME(kPcieThroughput, nvmlDeviceGetPcieThroughput);
CHOKEPOINT_SAME(kProcesses, nvmlDeviceGetComputeRunningProcesses_v3);
CHOKEPOINT_SAME(kNvlinkState, nvmlDeviceGetNvLinkState);
CHOKEPOINT_SAME(kFieldValues, nvmlDeviceGetFieldValues);
CHOKEPOINT_SAME(kGpmSupport, nvmlGpmQueryDeviceSupport);
CHOKEPOINT_SAME(kGpmAllocate, nvmlGpmSampleAlloc);
CHOKEPOINT_SAME(kGpmFree, nvmlGpmSampleFree);
CHOKEPOINT_SAME(kGpmSample, nvmlGpmSampleGet);
CHOKEPOINT_SAME(kGpmMetrics, nvmlGpmMetricsGet);
#undef CHOKEPOINT_SAME

#define CHOKEPOINT_SAME(Own, own, Theirs, theirs)                \
  static_assert(offsetof(Own, own) == offsetof(Theirs, theirs)); \
  static_assert(sizeof(Own::own) == sizeof(Theirs::theirs))
static_assert(sizeof(PciInfo) == sizeof(nvmlPciInfo_t));
CHOKEPOINT_SAME(PciInfo, bus_id, nvmlPciInfo_t, busId);
static_assert(sizeof(Utilisation) == sizeof(nvmlUtilization_t));
CHOKEPOINT_SAME(Utilisation, gpu, nvmlUtilization_t, gpu);
CHOKEPOINT_SAME(Utilisation, memory, nvmlUtilization_t, memory);
static_assert(sizeof(Memory) == sizeof(nvmlMemory_t));
CHOKEPOINT_SAME(Memory, used, nvmlMemory_t, used);
static_assert(sizeof(ProcessInfo) == sizeof(nvmlProcessInfo_t));
CHOKEPOINT_SAME(ProcessInfo, pid, nvmlProcessInfo_t, pid);
static_assert(sizeof(FieldValue) == sizeof(nvmlFieldValue_t));
CHOKEPOINT_SAME(FieldValue, field, nvmlFieldValue_t, fieldId);
CHOKEPOINT_SAME(FieldValue, scope, nvmlFieldValue_t, scopeId);
CHOKEPOINT_SAME(FieldValue, type, nvmlFieldValue_t, valueType);
CHOKEPOINT_SAME(FieldValue, result, nvmlFieldValue_t, nvmlReturn);
CHOKEPOINT_SAME(FieldValue, value, nvmlFieldValue_t, value);
static_assert(sizeof(GpmValue) == sizeof(nvmlGpmMetric_t));
CHOKEPOINT_SAME(GpmValue, metric, nvmlGpmMetric_t, metricId);
CHOKEPOINT_SAME(GpmValue, result, nvmlGpmMetric_t, nvmlReturn);
CHOKEPOINT_SAME(GpmValue, value, nvmlGpmMetric_t, value);
static_assert(sizeof(GpmRequest) >= sizeof(nvmlGpmMetricsGet_t));
CHOKEPOINT_SAME(GpmRequest, version, nvmlGpmMetricsGet_t, version);
CHOKEPOINT_SAME(GpmRequest, count, nvmlGpmMetricsGet_t, numMetrics);
CHOKEPOINT_SAME(GpmRequest, earlier, nvmlGpmMetricsGet_t, sample1);
CHOKEPOINT_SAME(GpmRequest, later, nvmlGpmMetricsGet_t, sample2);
static_assert(offsetof(GpmRequest, values) == offsetof(nvmlGpmMetricsGet_t, metrics));
static_assert(sizeof(GpmSupport) == sizeof(nvmlGpmSupport_t));
CHOKEPOINT_SAME(GpmSupport, version, nvmlGpmSupport_t, version);
CHOKEPOINT_SAME(GpmSupport, is_supported, nvmlGpmSupport_t, isSupportedDevice);
#undef CHOKEPOINT_SAME

constexpr bool same(auto own, auto theirs) {
  return static_cast<long long>(own) == static_cast<long long>(theirs);
}
static_assert(same(Clock::Sm, NVML_CLOCK_SM) && same(Clock::Memory, NVML_CLOCK_MEM));
static_assert(same(Sensor::Gpu, NVML_TEMPERATURE_GPU));
static_assert(same(PcieCounter::Sent, NVML_PCIE_UTIL_TX_BYTES));
static_assert(same(PcieCounter::Received, NVML_PCIE_UTIL_RX_BYTES));
static_assert(same(kUnknownPerformanceState, NVML_PSTATE_UNKNOWN));
static_assert(kMaxNvlinks <= NVML_NVLINK_MAX_LINKS);
static_assert(same(Field::NvlinkFlitCrcErrors, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL));
static_assert(same(Field::NvlinkDataCrcErrors, NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL));
static_assert(same(Field::NvlinkReplays, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL));
static_assert(same(Field::NvlinkRecoveries, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL));
static_assert(same(Field::NvlinkSentKib, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX));
static_assert(same(Field::NvlinkReceivedKib, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX));
static_assert(same(ValueType::Double, NVML_VALUE_TYPE_DOUBLE));
static_assert(same(ValueType::Unsigned, NVML_VALUE_TYPE_UNSIGNED_INT));
static_assert(same(ValueType::UnsignedLong, NVML_VALUE_TYPE_UNSIGNED_LONG));
static_assert(same(ValueType::UnsignedLongLong, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG));
static_assert(same(GpmMetric::GraphicsUtilisation, NVML_GPM_METRIC_GRAPHICS_UTIL));
static_assert(same(GpmMetric::PcieSent, NVML_GPM_METRIC_PCIE_TX_PER_SEC));
static_assert(same(GpmMetric::PcieReceived, NVML_GPM_METRIC_PCIE_RX_PER_SEC));
static_assert(same(GpmMetric::NvlinkReceived, NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC));
static_assert(same(GpmMetric::NvlinkSent, NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC));
static_assert(kGpmVersion == NVML_GPM_METRICS_GET_VERSION);
static_assert(kGpmVersion == NVML_GPM_SUPPORT_VERSION);

}  // namespace
}  // namespace chokepoint::host::nvml
#pragma GCC diagnostic pop
#endif
#endif
