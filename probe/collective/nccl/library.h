// NCCL, opened at run time: the part of its interface that is used here, and its errors in its own
// words. Names and layouts are declared here, since they are the same since NCCL 2.10 and few hosts
// have its header; the build compares both where it is found (header_check.cc). Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/gpu/driver.h"
#include "base/sys/error.h"
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
  const char* (*last_error)(Comm);  // since 2.13; null before
  Code (*all_reduce)(const void*, void*, std::size_t, Type, int, Comm, Stream);
  Code (*all_gather)(const void*, void*, std::size_t, Type, Comm, Stream);
  Code (*reduce_scatter)(const void*, void*, std::size_t, Type, int, Comm, Stream);
  Code (*broadcast)(const void*, void*, std::size_t, Type, int, Comm, Stream);
  Code (*send)(const void*, std::size_t, Type, int, Comm, Stream);
  Code (*receive)(void*, std::size_t, Type, int, Comm, Stream);
  Code (*group_start)();
  Code (*group_end)();

  // The name of the first function that is missing; null: none is.
  const char* load(const sys::Library& library);
};

Type type_of(ElementType type);

inline constexpr std::string_view kOperation = "backend nccl";  // of errors

class Library {
 public:
  // `name`: "libnccl.so.2", or a path. If the loader does not find it: the one of the Python
  // environment, or of NCCL's usual folders.
  static Result<std::shared_ptr<const Library>> open(const std::string& name);

  const std::string& version() const { return version_; }  // "NCCL 2.28.9"
  const Functions& functions() const { return functions_; }

  Result<> check(Code code, std::string_view subject) const;

 private:
  explicit Library(sys::Library library) : library_(std::move(library)) {}

  sys::Library library_;
  Functions functions_{};
  std::string version_;
};

}  // namespace chokepoint::probe::collective::nccl
