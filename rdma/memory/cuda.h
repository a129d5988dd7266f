// The part of CUDA's driver interface that a buffer in GPU memory needs, opened at run time: a host
// without it is a host without such buffers. Its names and layouts are declared here, as they are
// the same since CUDA 11.7 and its header is on few hosts.
//
// One context (the device's primary one), held as long as the object lives; any call makes it
// current for the calling thread. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::rdma::memory {

using GpuAddress = unsigned long long;

class Cuda {
 public:
  // `library`: "libcuda.so.1", or a path.
  static Result<std::unique_ptr<Cuda>> open(const std::string& library, int gpu);
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;
  ~Cuda();

  const std::string& name() const { return name_; }  // "GPU 0 (NVIDIA H200)"

  Result<GpuAddress> allocate(std::uint64_t bytes) const;
  void release(GpuAddress address) const;
  // Whole pages; the descriptor holds the memory for as long as it is open.
  Result<sys::Descriptor> export_dmabuf(GpuAddress address, std::uint64_t bytes) const;
  // What a card reads without the driver's knowledge must not lag behind what was copied.
  void synchronise_copies(GpuAddress address) const;

  Result<> write(GpuAddress to, std::span<const std::byte> bytes) const;
  Result<> read(GpuAddress from, std::span<std::byte> bytes) const;

 private:
  using Code = int;  // 0 is success
  using Handle = struct Opaque*;
  struct Functions;

  Cuda(sys::Library library, std::unique_ptr<Functions> functions, int gpu);
  Result<> start();
  Result<> check(Code code, std::string_view operation) const;
  Result<> enter() const;

  sys::Library library_;
  std::unique_ptr<Functions> functions_;
  int gpu_;
  int device_ = 0;
  Handle context_ = nullptr;
  std::string name_;
};

}  // namespace chokepoint::rdma::memory
