// CUDA's driver, opened at run time: without it a host has no GPUs to compute on. Shared by all
// GPUs that are opened by it, and closed with the last of them. Safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::gpu {

// The functions of CUDA's driver interface that are used here, found in the library once. Their
// names and layouts are declared here, as they are the same since CUDA 11.7 and its header is on
// few hosts. Only this folder includes it.

using Address = unsigned long long;  // of a byte in a GPU's memory
using Code = int;                    // 0 is success
using ContextHandle = struct OpaqueContext*;
using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;

struct Functions {
  Code (*init)(unsigned);
  Code (*version)(int*);
  Code (*error_string)(Code, const char**);
  Code (*device_count)(int*);
  Code (*device)(int*, int);
  Code (*device_name)(char*, int, int);
  Code (*device_address)(char*, int, int);
  Code (*device_attribute)(int*, int, int);
  Code (*can_access_peer)(int*, int, int);
  Code (*retain_context)(ContextHandle*, int);
  Code (*release_context)(int);
  Code (*set_context)(ContextHandle);
  Code (*enable_peer_access)(ContextHandle, unsigned);
  Code (*disable_peer_access)(ContextHandle);
  Code (*memory_info)(std::size_t*, std::size_t*);
  Code (*allocate)(Address*, std::size_t);
  Code (*free)(Address);
  Code (*to_gpu)(Address, const void*, std::size_t);
  Code (*from_gpu)(void*, Address, std::size_t);
  Code (*set_attribute)(const void*, int, Address);
  Code (*register_host)(void*, std::size_t, unsigned);
  Code (*unregister_host)(void*);
  Code (*create_stream)(StreamHandle*, unsigned);
  Code (*destroy_stream)(StreamHandle);
  Code (*finish_stream)(StreamHandle);
  Code (*hold_stream)(StreamHandle, EventHandle, unsigned);
  Code (*create_event)(EventHandle*, unsigned);
  Code (*destroy_event)(EventHandle);
  Code (*record_event)(EventHandle, StreamHandle);
  Code (*finish_event)(EventHandle);
  Code (*query_event)(EventHandle);
  Code (*elapsed)(float*, EventHandle, EventHandle);
  Code (*to_gpu_later)(Address, const void*, std::size_t, StreamHandle);
  Code (*from_gpu_later)(void*, Address, std::size_t, StreamHandle);
  Code (*to_peer_later)(Address, ContextHandle, Address, ContextHandle, std::size_t, StreamHandle);
  Code (*fill_later)(Address, unsigned, std::size_t, StreamHandle);
  Code (*export_range)(void*, Address, std::size_t, int, unsigned long long);  // may be missing

  // The name of the first function that is missing; null where all are there.
  const char* load(const sys::Library& library);
};

class Driver {
 public:
  // `library`: "libcuda.so.1", or a path. Starts the driver; no GPU at all is an error of the kind
  // NotFound.
  static Result<std::shared_ptr<const Driver>> open(const std::string& library = "libcuda.so.1");

  int gpus() const { return gpus_; }
  int version() const { return version_; }  // 13000 for CUDA 13.0; 0 where it is unknown
  const Functions& functions() const { return functions_; }

  // An error of `operation` on `subject`, in the driver's own words, where `code` is one.
  Result<> check(Code code, std::string_view operation, std::string_view subject) const;

 private:
  explicit Driver(sys::Library library) : library_(std::move(library)) {}
  Result<> start(const std::string& name);

  sys::Library library_;
  Functions functions_{};
  int gpus_ = 0;
  int version_ = 0;
};

// CUDA's numbers that are used here, as cuda.h has them. Only this folder includes it.

// CUresult
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kPeerAccessUnsupported = 217;
inline constexpr int kNotReady = 600;
inline constexpr int kAlreadyEnabled = 704;  // access to a peer
inline constexpr int kNotEnabled = 705;
inline constexpr int kNotPermitted = 800;
inline constexpr int kNotSupported = 801;

inline constexpr int kSynchroniseCopies = 6;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
inline constexpr int kDmaBufDescriptor = 1;   // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
inline constexpr int kCopyEngines = 40;       // CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT
inline constexpr unsigned kNonBlocking = 1;   // CU_STREAM_NON_BLOCKING: no default stream's wait
inline constexpr unsigned kForEveryGpu = 1;   // CU_MEMHOSTREGISTER_PORTABLE

}  // namespace chokepoint::gpu
