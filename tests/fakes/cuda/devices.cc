// Devices, contexts and memory of the made-up libcuda.so.1.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/cuda/state.h"

namespace fake_cuda {

State& state() {
  static State all;
  return all;
}

bool lacks(const char* what) {
  const char* lacking = std::getenv("FAKE_CUDA");
  return lacking != nullptr && std::strcmp(lacking, what) == 0;
}

int gpu_count() {
  const char* count = std::getenv("FAKE_CUDA_GPUS");
  return count == nullptr ? 1 : std::atoi(count);
}

double number(const char* variable, const char* key, double otherwise) {
  const char* text = std::getenv(variable);
  const char* found = text == nullptr ? nullptr : std::strstr(text, key);
  return found == nullptr ? otherwise : std::atof(found + std::strlen(key));
}

int begin() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const char* text = std::getenv("FAKE_CUDA_FAIL");
  const std::string fail = text == nullptr ? "" : text;
  if (fail != all.fail) {
    all.fail = fail;
    all.calls = 0;
  }
  return !fail.empty() && ++all.calls == std::atol(fail.c_str()) ? 999 : 0;
}

namespace {
thread_local void* current = nullptr;
constexpr std::size_t kAlignment = std::size_t{2} << 20;
}  // namespace

int current_gpu() {
  const auto* gpu = static_cast<const Gpu*>(current);
  return gpu != nullptr && gpu->contexts > 0 ? static_cast<int>(gpu - state().gpus) : -1;
}

}  // namespace fake_cuda

using fake_cuda::begin;
using fake_cuda::state;

// The names are CUDA's. NOLINTBEGIN(readability-identifier-naming,performance-no-int-to-ptr)
extern "C" {

// For tests: what was made and not given back.
long fake_cuda_alive() {
  auto& all = state();
  const std::lock_guard lock(all.mutex);
  long contexts = 0;
  for (const auto& gpu : all.gpus) {
    contexts += gpu.contexts;
  }
  return contexts + static_cast<long>(all.memory.size() + all.pinned.size() + all.streams.size() +
                                      all.events.size());
}
// From now on copies of this memory are as slow as those of a far NUMA node.
void fake_cuda_far(const void* address, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  state().far[reinterpret_cast<std::uint64_t>(address)] = bytes;
}

int cuInit(unsigned /*flags*/) { return fake_cuda::lacks("gpus") ? 100 : begin(); }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return begin();
}
int cuDeviceGetCount(int* count) {
  *count = fake_cuda::gpu_count();
  return begin();
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return begin();
}
int cuDeviceGetName(char* text, int size, int /*device*/) {
  std::snprintf(text, static_cast<std::size_t>(size), "NVIDIA H200");
  return begin();
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", 0xAF + device);
  return begin();
}
int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = attribute == 40 ? static_cast<int>(fake_cuda::number("FAKE_CUDA_ENGINES", "", 2)) : 0;
  return begin();
}
int cuDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  *can = fake_cuda::lacks("peers") ? 0 : 1;
  return begin();
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (const int code = begin()) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  ++state().gpus[device].contexts;
  *context = &state().gpus[device];
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  const std::lock_guard lock(state().mutex);
  --state().gpus[device].contexts;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  fake_cuda::current = context;
  return fake_cuda::current_gpu() < 0 ? 201 : begin();
}
int cuCtxEnablePeerAccess(void* peer, unsigned /*flags*/) {
  if (const int code = begin()) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  const int target = static_cast<int>(static_cast<fake_cuda::Gpu*>(peer) - state().gpus);
  return state().gpus[fake_cuda::current_gpu()].reaches.insert(target).second ? 0 : 704;
}
int cuCtxDisablePeerAccess(void* peer) {
  const std::lock_guard lock(state().mutex);
  const int target = static_cast<int>(static_cast<fake_cuda::Gpu*>(peer) - state().gpus);
  return state().gpus[fake_cuda::current_gpu()].reaches.erase(target) > 0 ? 0 : 705;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  *free = std::size_t{8} << 30;
  *all = std::size_t{16} << 30;
  return begin();
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (fake_cuda::lacks("memory")) {
    return 2;
  }
  if (const int code = begin()) {
    return code;
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, fake_cuda::kAlignment, bytes) != 0) {
    return 2;
  }
  *address = reinterpret_cast<unsigned long long>(memory);
  const std::lock_guard lock(state().mutex);
  state().memory[*address] = {bytes, fake_cuda::current_gpu()};
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  const std::lock_guard lock(state().mutex);
  if (state().memory.erase(address) == 0) {
    return 1;
  }
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  if (const int code = begin()) {
    return code;
  }
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  if (const int code = begin()) {
    return code;
  }
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned /*flags*/) {
  if (const int code = begin()) {
    return code;
  }
  const std::lock_guard lock(state().mutex);
  return state().pinned.try_emplace(reinterpret_cast<std::uint64_t>(address), bytes).second ? 0
                                                                                            : 712;
}
int cuMemHostUnregister(void* address) {
  const std::lock_guard lock(state().mutex);
  state().far.erase(reinterpret_cast<std::uint64_t>(address));
  return state().pinned.erase(reinterpret_cast<std::uint64_t>(address)) == 1 ? 0 : 713;
}
int cuPointerSetAttribute(const void* /*value*/, int /*attribute*/, unsigned long long /*at*/) {
  return 0;
}
int cuMemGetHandleForAddressRange(void* handle, unsigned long long /*address*/, std::size_t bytes,
                                  int /*type*/, unsigned long long /*flags*/) {
  if (fake_cuda::lacks("dmabuf")) {
    return 801;
  }
  const int fd = memfd_create("dmabuf", 0);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    return 999;
  }
  std::memcpy(handle, &fd, sizeof fd);
  return 0;
}
int cuGetErrorString(int code, const char** text) {
  switch (code) {
    case 2:
      *text = "out of memory";
      return 0;
    case 100:
      *text = "no CUDA-capable device is detected";
      return 0;
    case 801:
      *text = "operation not supported";
      return 0;
    case 999:
      *text = "unknown error";
      return 0;
    default:
      *text = nullptr;
      return 1;
  }
}
}
// NOLINTEND(readability-identifier-naming,performance-no-int-to-ptr)
