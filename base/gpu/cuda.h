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
#include "base/sys/pages.h"

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
  // As sysfs has it, "0000:3b:00.0"; nullopt where the driver does not report it.
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

// Host memory that GPUs reach by themselves, because its pages stay where they are: copies run at
// the link's speed and beside the caller. On a NUMA node where one is asked for. The GPU must
// outlive it. Move only.

class PinnedMemory {
 public:
  static Result<PinnedMemory> pin(const Cuda& gpu, sys::Pages pages);
  // Pages of its own; by ordinary pages.
  static Result<PinnedMemory> allocate(const Cuda& gpu, std::uint64_t bytes,
                                       std::optional<int> numa_node = std::nullopt);
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&&) = delete;
  ~PinnedMemory();

  std::span<std::byte> bytes() const { return pages_.bytes(); }

 private:
  PinnedMemory(const Cuda& gpu, sys::Pages pages) : gpu_(&gpu), pages_(std::move(pages)) {}

  const Cuda* gpu_;  // null once it was moved from
  sys::Pages pages_;
};

// What a GPU does beside the caller: copies and fills one after the other in a stream, several
// streams at the same time, and events that record when. Both must not outlive their GPU, and what
// a stream was given must stay until finish(). Move only; one thread at a time.

class Event {
 public:
  static Result<Event> make(const Cuda& gpu);
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;
  ~Event();

  Result<> finish() const;
  // Of two recorded events of one GPU; waits for neither, so finish() the later one first.
  Result<double> milliseconds_since(const Event& earlier) const;
  // Has it come to pass?
  Result<bool> is_over() const;
  EventHandle native() const { return handle_; }

 private:
  Event(const Cuda& gpu, EventHandle handle) : gpu_(&gpu), handle_(handle) {}

  const Cuda* gpu_;
  EventHandle handle_;
};

class Stream {
 public:
  static Result<Stream> make(const Cuda& gpu);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  // Host memory that is not pinned is copied through the driver's own, and the call waits for that.
  Result<> to_gpu(Address to, std::span<const std::byte> bytes) const;
  Result<> from_gpu(std::span<std::byte> to, Address from) const;
  // From this stream's GPU to another, or from another to this one. Through host memory unless one
  // of the two reaches the other (Cuda::reach).
  Result<> between(const Cuda& target, Address to, const Cuda& source, Address from,
                   std::uint64_t bytes) const;
  Result<> fill(Address at, std::uint32_t word, std::uint64_t words) const;

  Result<> record(const Event& event) const;
  Result<> wait_for(const Event& event) const;  // what is given to the stream from now on waits
  Result<> finish() const;

  const Cuda& gpu() const { return *gpu_; }
  StreamHandle native() const { return handle_; }  // cudaStream_t, too

 private:
  Stream(const Cuda& gpu, StreamHandle handle) : gpu_(&gpu), handle_(handle) {}

  const Cuda* gpu_;
  StreamHandle handle_;
};

}  // namespace chokepoint::gpu
