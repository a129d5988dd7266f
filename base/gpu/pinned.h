// Host memory that GPUs reach by themselves, because its pages stay where they are: copies run at
// the link's speed and beside the caller. On a NUMA node where one is asked for. The GPU must
// outlive it. Move only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/gpu/cuda.h"
#include "base/sys/pages.h"

namespace chokepoint::gpu {

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

}  // namespace chokepoint::gpu
