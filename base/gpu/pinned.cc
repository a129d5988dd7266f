#include "base/gpu/pinned.h"

#include <utility>

#include "base/gpu/codes.h"

namespace chokepoint::gpu {

Result<PinnedMemory> PinnedMemory::pin(const Cuda& gpu, sys::Pages pages) {
  auto done = gpu.use();
  if (done) {
    done = gpu.check(
        gpu.functions().register_host(pages.bytes().data(), pages.bytes().size(), kForEveryGpu),
        "pin host memory");
  }
  return done ? Result<PinnedMemory>(PinnedMemory(gpu, std::move(pages)))
              : fail(std::move(done.error()));
}

Result<PinnedMemory> PinnedMemory::allocate(const Cuda& gpu, std::uint64_t bytes,
                                            std::optional<int> numa_node) {
  auto pages = sys::Pages::map(bytes, {.numa_node = numa_node});
  return pages ? pin(gpu, std::move(*pages)) : fail(std::move(pages.error()));
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : gpu_(std::exchange(other.gpu_, nullptr)), pages_(std::move(other.pages_)) {}

PinnedMemory::~PinnedMemory() {
  if (gpu_ != nullptr) {
    static_cast<void>(gpu_->use());
    gpu_->functions().unregister_host(pages_.bytes().data());
  }
}

}  // namespace chokepoint::gpu
