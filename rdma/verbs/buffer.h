// The buffer of a test, in host or GPU memory. Memory that the processor cannot reach is written
// and read through copies. A Buffer owns its memory. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/sys/error.h"
#include "base/sys/root.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::verbs {

class Buffer {
 public:
  virtual ~Buffer() = default;

  virtual verbs::MemoryView view() const = 0;
  // Null: the processor reaches it only through copies.
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

// With nvidia-peermem the GPU's own address is registered, with dma-buf a descriptor of it.
enum class GpuPath { DmaBuf, PeerMemory };

struct GpuOptions {
  int gpu = 0;
  std::optional<GpuPath> path = {};  // nullopt: dma-buf, else peer memory
};

// CUDA's driver is opened at run time; without it there is an error.
Result<std::unique_ptr<Buffer>> gpu_buffer(std::uint64_t bytes, const GpuOptions& options);

// Where gpu_buffer() finds the driver and the kernel's modules; tests have some of their own.
struct GpuSurveyContext {
  std::string driver = "libcuda.so.1";
  sys::Root root = {};
};

Result<std::unique_ptr<Buffer>> gpu_buffer_in(const GpuSurveyContext& host, std::uint64_t bytes,
                                              const GpuOptions& options);

}  // namespace chokepoint::rdma::verbs
