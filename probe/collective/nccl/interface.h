// The part of NCCL's interface that is used here, found in the library once. Its names and layouts
// are declared here, as they are the same since NCCL 2.10 and its header is on few hosts; where it
// is found, the build compares (header_check.cc).
#pragma once

#include <array>
#include <cstddef>

#include "base/gpu/driver.h"
#include "base/sys/library.h"
#include "probe/collective/operation.h"

namespace chokepoint::probe::collective::nccl {

using Code = int;
inline constexpr Code kSuccess = 0;
inline constexpr Code kSystemError = 2;
inline constexpr Code kInvalidUsage = 5;
inline constexpr Code kRemoteError = 6;
inline constexpr Code kInProgress = 7;

using Type = int;
inline constexpr Type kUint8 = 1;
inline constexpr Type kInt32 = 2;
inline constexpr Type kInt64 = 4;
inline constexpr Type kFloat16 = 6;
inline constexpr Type kFloat32 = 7;
inline constexpr Type kFloat64 = 8;
inline constexpr Type kBFloat16 = 9;

inline constexpr int kSum = 0;

using Comm = struct OpaqueComm*;
using Stream = gpu::StreamHandle;

struct UniqueId {
  std::array<char, 128> bytes;
};

struct Functions {
  Code (*version)(int*);
  Code (*unique_id)(UniqueId*);
  Code (*init_rank)(Comm*, int, UniqueId, int);
  Code (*destroy)(Comm);
  Code (*abort)(Comm);
  Code (*async_error)(Comm, Code*);
  const char* (*error_string)(Code);
  const char* (*last_error)(Comm);  // may be missing: since 2.13
  Code (*all_reduce)(const void*, void*, std::size_t, Type, int, Comm, Stream);
  Code (*all_gather)(const void*, void*, std::size_t, Type, Comm, Stream);
  Code (*reduce_scatter)(const void*, void*, std::size_t, Type, int, Comm, Stream);
  Code (*broadcast)(const void*, void*, std::size_t, Type, int, Comm, Stream);
  Code (*send)(const void*, std::size_t, Type, int, Comm, Stream);
  Code (*receive)(void*, std::size_t, Type, int, Comm, Stream);
  Code (*group_start)();
  Code (*group_end)();

  // The name of the first function that is missing; null where all are there.
  const char* load(const sys::Library& library);
};

Type type_of(ElementType type);

}  // namespace chokepoint::probe::collective::nccl
