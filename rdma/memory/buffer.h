// A buffer of a test, in host or GPU memory. What the processor cannot reach itself is filled and
// read through copies. Owns its memory. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/sys/error.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::memory {

class Buffer {
 public:
  virtual ~Buffer() = default;

  virtual verbs::MemoryView view() const = 0;
  // Null where only copies reach it.
  virtual std::byte* host() = 0;
  virtual Result<> write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const = 0;
  virtual std::string describe() const = 0;  // "64 MiB of huge pages on NUMA node 1"
};

enum class Pages { Ordinary, Huge };

struct HostOptions {
  Pages pages = Pages::Ordinary;
  std::optional<int> numa_node = {};
};

Result<std::unique_ptr<Buffer>> host_buffer(std::uint64_t bytes, const HostOptions& options);

// By nvidia-peermem the GPU's own address is registered; by dma-buf a descriptor of it.
enum class GpuPath { DmaBuf, PeerMemory };

struct GpuOptions {
  int gpu = 0;
  std::optional<GpuPath> path = {};  // nothing: dma-buf, else peer memory
};

// CUDA's driver is opened at run time; without it an error that says so.
Result<std::unique_ptr<Buffer>> gpu_buffer(std::uint64_t bytes, const GpuOptions& options);

}  // namespace chokepoint::rdma::memory
