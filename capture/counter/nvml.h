// The part of NVML's C interface that is needed here, declared because its header is on few hosts:
// names, layouts and numbers as they have been since driver 384, GPM's since 520.
#pragma once

#include <array>

namespace chokepoint::capture::counter::nvml {

using Return = int;  // 0 is success
using Device = struct OpaqueDevice*;
using GpmSample = struct OpaqueGpmSample*;

constexpr Return kInsufficientSize = 7;

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

}  // namespace chokepoint::capture::counter::nvml
