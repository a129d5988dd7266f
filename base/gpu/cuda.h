// One GPU by CUDA's driver: its names, its memory, and copies that are waited for. What runs beside
// the caller is in stream.h.
//
// One context (the device's primary one, which CUDA's runtime and NCCL use, too), held as long as
// the object lives; any call makes it current for the calling thread. One thread at a time; several
// GPUs may be used by several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/gpu/driver.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::gpu {

class Cuda {
 public:
  static Result<std::unique_ptr<Cuda>> open(std::shared_ptr<const Driver> driver, int gpu);
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;
  ~Cuda();

  int number() const { return gpu_; }
  const std::string& name() const { return name_; }    // "GPU 0 (NVIDIA H200)"
  const std::string& model() const { return model_; }  // "NVIDIA H200"; empty where it has none
  // As sysfs has it, "0000:3b:00.0"; nothing where the driver does not tell.
  std::optional<std::string> pci_address() const;
  // How many copies it carries out at the same time, beside its kernels.
  std::optional<int> copy_engines() const;
  Result<std::uint64_t> free_memory() const;

  Result<Address> allocate(std::uint64_t bytes) const;
  void release(Address address) const;
  // Whole pages; the descriptor holds the memory for as long as it is open.
  Result<sys::Descriptor> export_dmabuf(Address address, std::uint64_t bytes) const;
  // What a card reads without the driver's knowledge must not lag behind what was copied.
  void synchronise_copies(Address address) const;

  Result<> write(Address to, std::span<const std::byte> bytes) const;
  Result<> read(Address from, std::span<std::byte> bytes) const;

  // May this GPU reach the other's memory by itself?
  Result<bool> can_reach(const Cuda& peer) const;
  // That it does from now on, or no longer. Asking for what is so already is no error.
  Result<> reach(const Cuda& peer, bool directly) const;

  // Makes its context the calling thread's: for what asks for the current one, as NCCL does.
  Result<> use() const;
  Result<> check(Code code, std::string_view operation) const;
  const Functions& functions() const { return driver_->functions(); }
  ContextHandle context() const { return context_; }

 private:
  Cuda(std::shared_ptr<const Driver> driver, int gpu);
  Result<> start();

  std::shared_ptr<const Driver> driver_;
  int gpu_;
  int device_ = 0;
  ContextHandle context_ = nullptr;
  std::string name_;
  std::string model_;
};

// Memory of a GPU, released with the object. The GPU must outlive it. Move only.
class Memory {
 public:
  static Result<Memory> allocate(const Cuda& gpu, std::uint64_t bytes);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&&) = delete;
  ~Memory();

  Address address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }
  const Cuda& gpu() const { return *gpu_; }

 private:
  Memory(const Cuda& gpu, Address address, std::uint64_t bytes)
      : gpu_(&gpu), address_(address), bytes_(bytes) {}

  const Cuda* gpu_;
  Address address_;
  std::uint64_t bytes_;
};

}  // namespace chokepoint::gpu
