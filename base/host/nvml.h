// NVIDIA's management library (NVML), opened at run time: a host without it has no driver of
// NVIDIA. The part of its C interface that is used is declared here, because few hosts have its
// header: names, layouts and numbers have been the same since driver 384, GPM's since 520. If a
// build finds the header, it compares the declarations with it, except the names of older drivers
// (nvml.cc).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "base/host/pci.h"
#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::host {
namespace nvml {

inline constexpr const char* kLibrary = "libnvidia-ml.so.1";

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

// Percent of the last sampling period.
struct Utilisation {
  unsigned gpu;
  unsigned memory;
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

enum class Clock : int { Sm = 1, Memory = 2 };
enum class Sensor : int { Gpu = 0 };
enum class PcieCounter : int { Sent = 0, Received = 1 };  // KB/s over 20 ms

inline constexpr int kUnknownPerformanceState = 32;
inline constexpr unsigned kMaxNvlinks = 18;

// CRC errors, replays and recoveries are of all links together.
enum class Field : unsigned {
  NvlinkFlitCrcErrors = 38,
  NvlinkDataCrcErrors = 45,
  NvlinkReplays = 52,
  NvlinkRecoveries = 59,
  NvlinkSentKib = 138,
  NvlinkReceivedKib = 139,
};
inline constexpr unsigned kAllLinks = ~0U;  // a field's scope

enum class ValueType : int { Double = 0, Unsigned = 1, UnsignedLong = 2, UnsignedLongLong = 3 };

struct FieldValue {
  Field field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  ValueType type;
  Return result;
  unsigned long long value;  // of a Double its bits
};

// GPU performance monitoring, between two samples: rates in MiB/s, shares in percent.
enum class GpmMetric : unsigned {
  GraphicsUtilisation = 1,
  PcieSent = 20,
  PcieReceived = 21,
  NvlinkReceived = 60,
  NvlinkSent = 61,
};

struct GpmValue {
  GpmMetric metric;
  Return result;
  double value;
  std::array<const char*, 3> names;
};

inline constexpr unsigned kGpmVersion = 1;

// `count`: how many values are requested; the array has space for all that any driver has, in case
// one writes them all.
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

template <class Signature>
struct Function {
  using Type = Signature;
  const char* name;
};

inline constexpr Function<Return()> kInit{"nvmlInit_v2"};
inline constexpr Function<Return()> kShutdown{"nvmlShutdown"};
inline constexpr Function<const char*(Return)> kErrorString{"nvmlErrorString"};
inline constexpr Function<Return(char*, unsigned)> kDriverVersion{"nvmlSystemGetDriverVersion"};
inline constexpr Function<Return(unsigned*)> kDeviceCount{"nvmlDeviceGetCount_v2"};
inline constexpr Function<Return(unsigned, Device*)> kByIndex{"nvmlDeviceGetHandleByIndex_v2"};
inline constexpr Function<Return(const char*, Device*)> kByAddress{
    "nvmlDeviceGetHandleByPciBusId_v2"};

template <class Value>
using Getter = Function<Return(Device, Value*)>;
inline constexpr Function<Return(Device, char*, unsigned)> kName{"nvmlDeviceGetName"};
inline constexpr Getter<PciInfo> kPciInfo{"nvmlDeviceGetPciInfo_v3"};
inline constexpr Getter<Utilisation> kUtilisation{"nvmlDeviceGetUtilizationRates"};
inline constexpr Getter<Memory> kMemory{"nvmlDeviceGetMemoryInfo"};
inline constexpr Getter<int> kPerformanceState{"nvmlDeviceGetPerformanceState"};
inline constexpr Getter<unsigned> kGeneration{"nvmlDeviceGetCurrPcieLinkGeneration"};
inline constexpr Getter<unsigned> kMaxGeneration{"nvmlDeviceGetMaxPcieLinkGeneration"};
inline constexpr Getter<unsigned> kWidth{"nvmlDeviceGetCurrPcieLinkWidth"};
inline constexpr Getter<unsigned> kMaxWidth{"nvmlDeviceGetMaxPcieLinkWidth"};
inline constexpr Getter<unsigned> kReplays{"nvmlDeviceGetPcieReplayCounter"};
inline constexpr Getter<unsigned> kPower{"nvmlDeviceGetPowerUsage"};  // mW
inline constexpr Getter<unsigned> kPowerLimit{"nvmlDeviceGetEnforcedPowerLimit"};
// The first name is of driver 535, and the second may go one day.
inline constexpr Getter<unsigned long long> kThrottleReasons{
    "nvmlDeviceGetCurrentClocksEventReasons"};
inline constexpr Getter<unsigned long long> kOldThrottleReasons{
    "nvmlDeviceGetCurrentClocksThrottleReasons"};
inline constexpr Function<Return(Device, Clock, unsigned*)> kClock{"nvmlDeviceGetClockInfo"};
inline constexpr Function<Return(Device, Clock, unsigned*)> kMaxClock{"nvmlDeviceGetMaxClockInfo"};
inline constexpr Function<Return(Device, Sensor, unsigned*)> kTemperature{
    "nvmlDeviceGetTemperature"};
inline constexpr Function<Return(Device, PcieCounter, unsigned*)> kPcieThroughput{
    "nvmlDeviceGetPcieThroughput"};
inline constexpr Function<Return(Device, unsigned*, ProcessInfo*)> kProcesses{
    "nvmlDeviceGetComputeRunningProcesses_v3"};
inline constexpr Function<Return(Device, unsigned*, ProcessInfo*)> kOldProcesses{
    "nvmlDeviceGetComputeRunningProcesses_v2"};
inline constexpr Function<Return(Device, unsigned, int*)> kNvlinkState{"nvmlDeviceGetNvLinkState"};
inline constexpr Function<Return(Device, int, FieldValue*)> kFieldValues{
    "nvmlDeviceGetFieldValues"};
inline constexpr Getter<GpmSupport> kGpmSupport{"nvmlGpmQueryDeviceSupport"};
inline constexpr Function<Return(GpmSample*)> kGpmAllocate{"nvmlGpmSampleAlloc"};
inline constexpr Function<Return(GpmSample)> kGpmFree{"nvmlGpmSampleFree"};
inline constexpr Function<Return(Device, GpmSample)> kGpmSample{"nvmlGpmSampleGet"};
inline constexpr Function<Return(GpmRequest*)> kGpmMetrics{"nvmlGpmMetricsGet"};

// NVML initialised, until it is destroyed. A call may take seconds where no process keeps the GPUs
// awake. Safe on any thread.
class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const std::string& library = kLibrary);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { call(kShutdown); }

  // True if the library has the function and it succeeds.
  template <class... Parameters>
  bool call(Function<Return(Parameters...)> function,
            std::type_identity_t<Parameters>... arguments) const {
    auto* found = library_.function<Return(Parameters...)>(function.name);
    return found != nullptr && found(arguments...) == 0;
  }
  template <class Value>
  std::optional<Value> read(Getter<Value> getter, Device device) const {
    Value value{};
    return call(getter, device, &value) ? std::optional(value) : std::nullopt;
  }
  template <class Which, class Value>
  std::optional<Value> read(Function<Return(Device, Which, Value*)> getter, Device device,
                            std::type_identity_t<Which> which) const {
    Value value{};
    return call(getter, device, which, &value) ? std::optional(value) : std::nullopt;
  }
  unsigned devices() const;
  std::optional<Device> device(unsigned index) const;
  std::optional<std::string> address(Device device) const;  // "0000:3b:00.0"

 private:
  explicit Session(sys::Library library) : library_(std::move(library)) {}

  sys::Library library_;
};

}  // namespace nvml

// How a GPU's link is trained at this moment, quickly enough to be asked many times a second.
struct LinkNow {
  PciLink link = {};
  std::optional<std::int64_t> replays = {};  // packets retransmitted since the driver was loaded
};

class NvmlLinks {
 public:
  static Result<NvmlLinks> open(const std::string& library = nvml::kLibrary);

  // "0000:3b:00.0". All unknown where NVML does not know it, or no longer.
  LinkNow read(const std::string& address) const;

 private:
  explicit NvmlLinks(std::unique_ptr<nvml::Session> session) : session_(std::move(session)) {}

  std::unique_ptr<nvml::Session> session_;
};

}  // namespace chokepoint::host
