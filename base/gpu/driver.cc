#include "base/gpu/driver.h"

#include <fmt/format.h>

namespace chokepoint::gpu {
namespace {

constexpr std::string_view kListGpus =
    "'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may hide some";

ErrorKind kind_of(int code) {
  switch (code) {
    case kOutOfMemory:
      return ErrorKind::Exhausted;
    case kNoDevice:
    case kInvalidDevice:
      return ErrorKind::NotFound;
    case kNotPermitted:
      return ErrorKind::Permission;
    case kNotSupported:
    case kInvalidValue:
    case kPeerAccessUnsupported:
      return ErrorKind::Unsupported;
    default:
      return ErrorKind::Io;
  }
}

std::string_view next_step_of(int code) {
  switch (code) {
    case kOutOfMemory:
      return "a smaller buffer, or another GPU; 'nvidia-smi' shows who holds the memory";
    case kNoDevice:
    case kInvalidDevice:
      return kListGpus;
    case kNotSupported:
    case kInvalidValue:
    case kPeerAccessUnsupported:
      return {};
    default:
      return "'nvidia-smi' and 'dmesg' may show more";
  }
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
  auto opened = sys::Library::open_for_good(library);
  if (!opened) {
    return fail(ErrorKind::NotFound, "CUDA", library, "the GPU driver is not on this host",
                "install NVIDIA's driver");
  }
  std::shared_ptr<Driver> driver(new Driver(std::move(*opened)));
  if (const char* missing = driver->functions_.load(driver->library_)) {
    return fail(ErrorKind::Unsupported, "CUDA", library,
                fmt::format("this driver lacks {}", missing), "install a newer driver of NVIDIA");
  }
  TRY(driver->start(library));
  return driver;
}

Result<> Driver::start(const std::string& name) {
  TRY(check(functions_.init(0), "start CUDA", name));
  TRY(check(functions_.device_count(&gpus_), "list GPUs", name));
  if (functions_.version(&version_) != 0) {
    version_ = 0;
  }
  return gpus_ > 0 ? Result<>()
                   : fail(ErrorKind::NotFound, "CUDA", name, "this host has no GPU", kListGpus);
}

Result<> Driver::check(Code code, std::string_view operation, std::string_view subject) const {
  if (code == 0) {
    return {};
  }
  const char* reason = nullptr;
  const bool known = functions_.error_string(code, &reason) == 0 && reason != nullptr;
  return fail(kind_of(code), fmt::format("CUDA: {}", operation), subject,
              known ? std::string(reason) : fmt::format("error {}", code), next_step_of(code));
}

namespace {

class Finder {
 public:
  explicit Finder(const sys::Library& library) : library_(library) {}

  template <class Function>
  void find(const char* name, Function*& function) {
    function = library_.function<Function>(name);
    if (function == nullptr && missing_ == nullptr) {
      missing_ = name;
    }
  }
  const char* missing() const { return missing_; }

 private:
  const sys::Library& library_;
  const char* missing_ = nullptr;
};

void find_devices(Finder& finder, Functions& to) {
  finder.find("cuInit", to.init);
  finder.find("cuDriverGetVersion", to.version);
  finder.find("cuGetErrorString", to.error_string);
  finder.find("cuDeviceGetCount", to.device_count);
  finder.find("cuDeviceGet", to.device);
  finder.find("cuDeviceGetName", to.device_name);
  finder.find("cuDeviceGetPCIBusId", to.device_address);
  finder.find("cuDeviceGetAttribute", to.device_attribute);
  finder.find("cuDeviceCanAccessPeer", to.can_access_peer);
  finder.find("cuDevicePrimaryCtxRetain", to.retain_context);
  finder.find("cuDevicePrimaryCtxRelease_v2", to.release_context);
  finder.find("cuCtxSetCurrent", to.set_context);
  finder.find("cuCtxEnablePeerAccess", to.enable_peer_access);
  finder.find("cuCtxDisablePeerAccess", to.disable_peer_access);
}

void find_memory(Finder& finder, Functions& to) {
  finder.find("cuMemGetInfo_v2", to.memory_info);
  finder.find("cuMemAlloc_v2", to.allocate);
  finder.find("cuMemFree_v2", to.free);
  finder.find("cuMemcpyHtoD_v2", to.to_gpu);
  finder.find("cuMemcpyDtoH_v2", to.from_gpu);
  finder.find("cuPointerSetAttribute", to.set_attribute);
  finder.find("cuMemHostRegister_v2", to.register_host);
  finder.find("cuMemHostUnregister", to.unregister_host);
}

void find_streams(Finder& finder, Functions& to) {
  finder.find("cuStreamCreate", to.create_stream);
  finder.find("cuStreamDestroy_v2", to.destroy_stream);
  finder.find("cuStreamSynchronize", to.finish_stream);
  finder.find("cuStreamWaitEvent", to.hold_stream);
  finder.find("cuEventCreate", to.create_event);
  finder.find("cuEventDestroy_v2", to.destroy_event);
  finder.find("cuEventRecord", to.record_event);
  finder.find("cuEventSynchronize", to.finish_event);
  finder.find("cuEventQuery", to.query_event);
  finder.find("cuEventElapsedTime", to.elapsed);
  finder.find("cuMemcpyHtoDAsync_v2", to.to_gpu_later);
  finder.find("cuMemcpyDtoHAsync_v2", to.from_gpu_later);
  finder.find("cuMemcpyPeerAsync", to.to_peer_later);
  finder.find("cuMemsetD32Async", to.fill_later);
}

}  // namespace

const char* Functions::load(const sys::Library& library) {
  Finder finder(library);
  find_devices(finder, *this);
  find_memory(finder, *this);
  find_streams(finder, *this);
  Finder optional(library);
  optional.find("cuMemGetHandleForAddressRange", export_range);
  return finder.missing();
}

}  // namespace chokepoint::gpu

#if __has_include(<cuda.h>)
#include <cuda.h>

// An older one lacks some of it.
#if CUDA_VERSION >= 11070
#include "base/sys/library.h"

namespace chokepoint::gpu {

// Where CUDA's own header was found, the build holds functions.h and the driver's numbers against
// it.

namespace {

using sys::kSameType;

static_assert(kInvalidValue == CUDA_ERROR_INVALID_VALUE && kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kInvalidDevice == CUDA_ERROR_INVALID_DEVICE);
static_assert(kPeerAccessUnsupported == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
static_assert(kNotReady == CUDA_ERROR_NOT_READY);
static_assert(kAlreadyEnabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(kNotEnabled == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
static_assert(kNotPermitted == CUDA_ERROR_NOT_PERMITTED);
static_assert(kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(kSynchroniseCopies == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
static_assert(kDmaBufDescriptor == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
static_assert(kCopyEngines == CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
static_assert(kNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kForEveryGpu == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(sizeof(Address) == sizeof(CUdeviceptr));

static_assert(kSameType<decltype(Functions::init), decltype(&cuInit)>);
static_assert(kSameType<decltype(Functions::version), decltype(&cuDriverGetVersion)>);
static_assert(kSameType<decltype(Functions::error_string), decltype(&cuGetErrorString)>);
static_assert(kSameType<decltype(Functions::device_count), decltype(&cuDeviceGetCount)>);
static_assert(kSameType<decltype(Functions::device), decltype(&cuDeviceGet)>);
static_assert(kSameType<decltype(Functions::device_name), decltype(&cuDeviceGetName)>);
static_assert(kSameType<decltype(Functions::device_address), decltype(&cuDeviceGetPCIBusId)>);
static_assert(kSameType<decltype(Functions::device_attribute), decltype(&cuDeviceGetAttribute)>);
static_assert(kSameType<decltype(Functions::can_access_peer), decltype(&cuDeviceCanAccessPeer)>);
static_assert(kSameType<decltype(Functions::retain_context), decltype(&cuDevicePrimaryCtxRetain)>);
static_assert(
    kSameType<decltype(Functions::release_context), decltype(&cuDevicePrimaryCtxRelease)>);
static_assert(kSameType<decltype(Functions::set_context), decltype(&cuCtxSetCurrent)>);
static_assert(kSameType<decltype(Functions::enable_peer_access), decltype(&cuCtxEnablePeerAccess)>);
static_assert(
    kSameType<decltype(Functions::disable_peer_access), decltype(&cuCtxDisablePeerAccess)>);
static_assert(kSameType<decltype(Functions::memory_info), decltype(&cuMemGetInfo)>);
static_assert(kSameType<decltype(Functions::allocate), decltype(&cuMemAlloc)>);
static_assert(kSameType<decltype(Functions::free), decltype(&cuMemFree)>);
static_assert(kSameType<decltype(Functions::to_gpu), decltype(&cuMemcpyHtoD)>);
static_assert(kSameType<decltype(Functions::from_gpu), decltype(&cuMemcpyDtoH)>);
static_assert(kSameType<decltype(Functions::set_attribute), decltype(&cuPointerSetAttribute)>);
static_assert(kSameType<decltype(Functions::register_host), decltype(&cuMemHostRegister)>);
static_assert(kSameType<decltype(Functions::unregister_host), decltype(&cuMemHostUnregister)>);
static_assert(kSameType<decltype(Functions::create_stream), decltype(&cuStreamCreate)>);
static_assert(kSameType<decltype(Functions::destroy_stream), decltype(&cuStreamDestroy)>);
static_assert(kSameType<decltype(Functions::finish_stream), decltype(&cuStreamSynchronize)>);
static_assert(kSameType<decltype(Functions::hold_stream), decltype(&cuStreamWaitEvent)>);
static_assert(kSameType<decltype(Functions::create_event), decltype(&cuEventCreate)>);
static_assert(kSameType<decltype(Functions::destroy_event), decltype(&cuEventDestroy)>);
static_assert(kSameType<decltype(Functions::record_event), decltype(&cuEventRecord)>);
static_assert(kSameType<decltype(Functions::finish_event), decltype(&cuEventSynchronize)>);
static_assert(kSameType<decltype(Functions::query_event), decltype(&cuEventQuery)>);
static_assert(kSameType<decltype(Functions::elapsed), decltype(&cuEventElapsedTime)>);
static_assert(kSameType<decltype(Functions::to_gpu_later), decltype(&cuMemcpyHtoDAsync)>);
static_assert(kSameType<decltype(Functions::from_gpu_later), decltype(&cuMemcpyDtoHAsync)>);
static_assert(kSameType<decltype(Functions::to_peer_later), decltype(&cuMemcpyPeerAsync)>);
static_assert(kSameType<decltype(Functions::fill_later), decltype(&cuMemsetD32Async)>);
static_assert(
    kSameType<decltype(Functions::export_range), decltype(&cuMemGetHandleForAddressRange)>);

}  // namespace
}  // namespace chokepoint::gpu
#endif
#endif
