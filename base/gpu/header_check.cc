// Where CUDA's own header was found, the build holds functions.h and the driver's numbers against
// it.
#if __has_include(<cuda.h>)
#include <cuda.h>

// An older one lacks some of it.
#if CUDA_VERSION >= 11070
#include "base/gpu/codes.h"
#include "base/gpu/functions.h"
#include "base/sys/signature.h"

namespace chokepoint::gpu {
namespace {

using sys::kAlike;

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

static_assert(kAlike<decltype(Functions::init), decltype(&cuInit)>);
static_assert(kAlike<decltype(Functions::version), decltype(&cuDriverGetVersion)>);
static_assert(kAlike<decltype(Functions::error_string), decltype(&cuGetErrorString)>);
static_assert(kAlike<decltype(Functions::device_count), decltype(&cuDeviceGetCount)>);
static_assert(kAlike<decltype(Functions::device), decltype(&cuDeviceGet)>);
static_assert(kAlike<decltype(Functions::device_name), decltype(&cuDeviceGetName)>);
static_assert(kAlike<decltype(Functions::device_address), decltype(&cuDeviceGetPCIBusId)>);
static_assert(kAlike<decltype(Functions::device_attribute), decltype(&cuDeviceGetAttribute)>);
static_assert(kAlike<decltype(Functions::can_access_peer), decltype(&cuDeviceCanAccessPeer)>);
static_assert(kAlike<decltype(Functions::retain_context), decltype(&cuDevicePrimaryCtxRetain)>);
static_assert(kAlike<decltype(Functions::release_context), decltype(&cuDevicePrimaryCtxRelease)>);
static_assert(kAlike<decltype(Functions::set_context), decltype(&cuCtxSetCurrent)>);
static_assert(kAlike<decltype(Functions::enable_peer_access), decltype(&cuCtxEnablePeerAccess)>);
static_assert(kAlike<decltype(Functions::disable_peer_access), decltype(&cuCtxDisablePeerAccess)>);
static_assert(kAlike<decltype(Functions::memory_info), decltype(&cuMemGetInfo)>);
static_assert(kAlike<decltype(Functions::allocate), decltype(&cuMemAlloc)>);
static_assert(kAlike<decltype(Functions::free), decltype(&cuMemFree)>);
static_assert(kAlike<decltype(Functions::to_gpu), decltype(&cuMemcpyHtoD)>);
static_assert(kAlike<decltype(Functions::from_gpu), decltype(&cuMemcpyDtoH)>);
static_assert(kAlike<decltype(Functions::set_attribute), decltype(&cuPointerSetAttribute)>);
static_assert(kAlike<decltype(Functions::register_host), decltype(&cuMemHostRegister)>);
static_assert(kAlike<decltype(Functions::unregister_host), decltype(&cuMemHostUnregister)>);
static_assert(kAlike<decltype(Functions::create_stream), decltype(&cuStreamCreate)>);
static_assert(kAlike<decltype(Functions::destroy_stream), decltype(&cuStreamDestroy)>);
static_assert(kAlike<decltype(Functions::finish_stream), decltype(&cuStreamSynchronize)>);
static_assert(kAlike<decltype(Functions::hold_stream), decltype(&cuStreamWaitEvent)>);
static_assert(kAlike<decltype(Functions::create_event), decltype(&cuEventCreate)>);
static_assert(kAlike<decltype(Functions::destroy_event), decltype(&cuEventDestroy)>);
static_assert(kAlike<decltype(Functions::record_event), decltype(&cuEventRecord)>);
static_assert(kAlike<decltype(Functions::finish_event), decltype(&cuEventSynchronize)>);
static_assert(kAlike<decltype(Functions::query_event), decltype(&cuEventQuery)>);
static_assert(kAlike<decltype(Functions::elapsed), decltype(&cuEventElapsedTime)>);
static_assert(kAlike<decltype(Functions::to_gpu_later), decltype(&cuMemcpyHtoDAsync)>);
static_assert(kAlike<decltype(Functions::from_gpu_later), decltype(&cuMemcpyDtoHAsync)>);
static_assert(kAlike<decltype(Functions::to_peer_later), decltype(&cuMemcpyPeerAsync)>);
static_assert(kAlike<decltype(Functions::fill_later), decltype(&cuMemsetD32Async)>);
static_assert(kAlike<decltype(Functions::export_range), decltype(&cuMemGetHandleForAddressRange)>);

}  // namespace
}  // namespace chokepoint::gpu
#endif
#endif
