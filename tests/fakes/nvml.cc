// A libnvidia-ml.so.1 with one GPU, in C's interface, for tests of what opens the real one.
#include <cstdio>
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
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned /*index*/, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* /*device*/, PciInfo* info) {
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:AF:00.0");
  return 0;
}
int nvmlDeviceGetName(void* /*device*/, char* text, unsigned size) {
  std::snprintf(text, size, "NVIDIA H200");
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* /*device*/, unsigned* value) {
  *value = 4;
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
int nvmlDeviceGetPcieReplayCounter(void* /*device*/, unsigned* /*value*/) {
  return 3;  // not supported
}
}
// NOLINTEND(readability-identifier-naming)
