// A libnvidia-ml.so.1 with one GPU, or as many as FAKE_NVML_GPUS says, in C's interface, for tests
// of what opens the real one. The first has two NVLinks, one of which is down; the others have
// none, and no GPM.
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The names are NVML's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct Utilisation {
  unsigned gpu, memory;
};

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "550.54.15");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const char* wanted = std::getenv("FAKE_NVML_GPUS");
  *count = wanted == nullptr ? 1 : static_cast<unsigned>(std::atoi(wanted));
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static unsigned gpus[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  *device = &gpus[index];
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0",
                0xAF + *static_cast<unsigned*>(device));
  return 0;
}
int nvmlDeviceGetName(void* /*device*/, char* text, unsigned size) {
  std::snprintf(text, size, "NVIDIA H200");
  return 0;
}
// By its address every GPU is there.
int nvmlDeviceGetHandleByPciBusId_v2(const char* /*address*/, void** device) {
  return nvmlDeviceGetHandleByIndex_v2(0, device);
}
// FAKE_NVML_GENERATIONS: "1,5,4", what is told one time after the other, the last one from then on.
int nvmlDeviceGetCurrPcieLinkGeneration(void* /*device*/, unsigned* value) {
  static unsigned told = 0;
  *value = 4;
  const char* list = std::getenv("FAKE_NVML_GENERATIONS");
  for (unsigned i = 0; list != nullptr; ++i) {
    *value = static_cast<unsigned>(std::atoi(list));
    const char* comma = std::strchr(list, ',');
    if (comma == nullptr || i == told) {
      break;
    }
    list = comma + 1;
  }
  ++told;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* /*device*/, unsigned* value) {
  *value = 5;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void* /*device*/, unsigned* value) {
  *value = 16;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void* /*device*/, unsigned* value) {
  *value = 16;
  return 0;
}
int nvmlDeviceGetPerformanceState(void* /*device*/, unsigned* value) {
  *value = 32;  // not known
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* /*device*/, Utilisation* rates) {
  *rates = {97, 40};
  return 0;
}
// Not supported, unless FAKE_NVML_REPLAYS says how many come between two looks.
int nvmlDeviceGetPcieReplayCounter(void* /*device*/, unsigned* value) {
  static unsigned replays = 0;
  const char* more = std::getenv("FAKE_NVML_REPLAYS");
  *value = replays;
  replays += more == nullptr ? 0 : static_cast<unsigned>(std::atoi(more));
  return more == nullptr ? 3 : 0;
}
struct Memory {
  unsigned long long total, free, used;
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct GpmSupport {
  unsigned version, is_supported;
};

struct GpmValue {
  unsigned metric;
  int result;
  double value;
  const char* names[3];
};

struct GpmRequest {
  unsigned version, count;
  void *earlier, *later;
  GpmValue values[512];
};

int nvmlDeviceGetMemoryInfo(void* /*device*/, Memory* memory) {
  *memory = {80'000'000'000, 68'000'000'000, 12'000'000'000};
  return 0;
}
int nvmlDeviceGetClockInfo(void* /*device*/, unsigned kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1200 : 2619;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void* /*device*/, unsigned kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1980 : 2619;
  return 0;
}
int nvmlDeviceGetTemperature(void* /*device*/, unsigned sensor, unsigned* celsius) {
  *celsius = 71;
  return sensor == 0 ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 698'500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* is_active) {
  *is_active = link == 0 ? 1 : 0;
  return *static_cast<unsigned*>(device) == 0 && link < 2 ? 0 : 3;
}
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
};
// Of the CRC errors' counters it knows one.
int nvmlDeviceGetFieldValues(void* /*device*/, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    FieldValue& value = values[i];
    const bool is_known = value.field != 38;
    value.type = value.field == 138 ? 3 : 1;
    value.result = is_known ? 0 : 3;
    // What stands beside a number of 32 bits means nothing.
    value.value = value.field == 138 ? 1ULL << 33 : 0xABCD'0000'0000ULL + value.field;
  }
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*device*/, unsigned long long* reasons) {
  *reasons = 4;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* /*device*/, unsigned* count, ProcessInfo* list) {
  if (*count < 2) {
    return 7;
  }
  *count = 2;
  list[0] = {4711, 1, 0, 0};
  list[1] = {4712, 1, 0, 0};
  return 0;
}
int nvmlDeviceGetPcieThroughput(void* /*device*/, unsigned direction, unsigned* kilobytes) {
  *kilobytes = direction == 0 ? 5000 : 6000;
  return 0;
}
int nvmlGpmQueryDeviceSupport(void* device, GpmSupport* support) {
  support->is_supported = *static_cast<unsigned*>(device) == 0 ? 1 : 0;
  return support->version == 1 ? 0 : 25;
}
int nvmlGpmSampleAlloc(void** sample) {
  *sample = new int(0);
  return 0;
}
int nvmlGpmSampleFree(void* sample) {
  delete static_cast<int*>(sample);
  return 0;
}
int nvmlGpmSampleGet(void* /*device*/, void* sample) {
  static int taken = 0;
  *static_cast<int*>(sample) = ++taken;
  return 0;
}
// Of two samples that follow each other, in MiB/s: 1000 sent and 2000 received over PCIe, 3000 sent
// over NVLink; no word on what came in. A kernel ran for 26.5 % of the time.
int nvmlGpmMetricsGet(GpmRequest* request) {
  if (request->version != 1 ||
      *static_cast<int*>(request->earlier) + 1 != *static_cast<int*>(request->later)) {
    return 2;
  }
  for (unsigned i = 0; i < request->count; ++i) {
    GpmValue& value = request->values[i];
    value.result = value.metric == 60 ? 3 : 0;
    value.value = value.metric == 1    ? 26.5
                  : value.metric == 20 ? 1000
                  : value.metric == 21 ? 2000
                                       : 3000;
  }
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
