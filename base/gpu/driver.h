// CUDA's driver, opened at run time: a host without it is a host without GPUs to compute on. Shared
// by all GPUs that are opened by it, and closed with the last of them. Safe on any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/gpu/functions.h"
#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::gpu {

class Driver {
 public:
  // `library`: "libcuda.so.1", or a path. Starts the driver; no GPU at all is an error of the kind
  // NotFound.
  static Result<std::shared_ptr<const Driver>> open(const std::string& library = "libcuda.so.1");

  int gpus() const { return gpus_; }
  int version() const { return version_; }  // 13000 for CUDA 13.0; 0 where it does not say
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

}  // namespace chokepoint::gpu
