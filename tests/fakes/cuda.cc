// A libcuda.so.1 with one GPU whose memory is the host's, in C's interface, for tests of what opens
// the real one. FAKE_CUDA in the environment says what it lacks: "gpus", "memory", "dmabuf".
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool lacks(const char* what) {
  const char* lacking = std::getenv("FAKE_CUDA");
  return lacking != nullptr && std::strcmp(lacking, what) == 0;
}

constexpr std::size_t kAlignment = std::size_t{2} << 20;
int contexts = 0;

}  // namespace

// The names are CUDA's. NOLINTBEGIN(readability-identifier-naming,performance-no-int-to-ptr)
extern "C" {

int cuInit(unsigned /*flags*/) { return lacks("gpus") ? 100 : 0; }
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return 0;
}
int cuDeviceGetName(char* text, int size, int /*device*/) {
  std::snprintf(text, static_cast<std::size_t>(size), "NVIDIA H200");
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
  *context = &contexts;
  ++contexts;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int /*device*/) {
  --contexts;
  return 0;
}
int cuCtxSetCurrent(void* context) { return context == &contexts && contexts > 0 ? 0 : 201; }
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (lacks("memory")) {
    return 2;
  }
  *address = reinterpret_cast<unsigned long long>(std::aligned_alloc(kAlignment, bytes));
  return *address == 0 ? 2 : 0;
}
int cuMemFree_v2(unsigned long long address) {
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuPointerSetAttribute(const void* /*value*/, int /*attribute*/, unsigned long long /*at*/) {
  return 0;
}
int cuMemGetHandleForAddressRange(void* handle, unsigned long long /*address*/, std::size_t bytes,
                                  int /*type*/, unsigned long long /*flags*/) {
  if (lacks("dmabuf")) {
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
    default:
      *text = nullptr;
      return 1;
  }
}
}
// NOLINTEND(readability-identifier-naming,performance-no-int-to-ptr)
