// The functions of CUDA's driver interface that are used here, found in the library once. Their
// names and layouts are declared here, as they are the same since CUDA 11.7 and its header is on
// few hosts. Only this folder includes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sys/library.h"

namespace chokepoint::gpu {

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

}  // namespace chokepoint::gpu
