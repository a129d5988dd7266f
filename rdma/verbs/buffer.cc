#include "rdma/verbs/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/gpu/cuda.h"
#include "base/sys/pages.h"

namespace chokepoint::rdma::verbs {

namespace {

using sys::size_words;

Result<> check_inside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > size || bytes > size - offset) {
    return fail(ErrorKind::Usage, "reach memory", size_words(size), "outside of the buffer");
  }
  return {};
}

class HostBuffer final : public Buffer {
 public:
  HostBuffer(sys::Pages pages, std::uint64_t bytes, const HostOptions& options)
      : pages_(std::move(pages)), bytes_(bytes), options_(options) {}

  verbs::MemoryView view() const override {
    return {.address = reinterpret_cast<std::uint64_t>(pages_.data()), .bytes = bytes_};
  }
  std::byte* host() override { return pages_.data(); }

  Result<> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    TRY(check_inside(bytes_, offset, bytes.size()));
    std::memcpy(pages_.data() + offset, bytes.data(), bytes.size());
    return {};
  }

  Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
    TRY(check_inside(bytes_, offset, bytes.size()));
    std::memcpy(bytes.data(), pages_.data() + offset, bytes.size());
    return {};
  }

  std::string describe() const override {
    std::string words = size_words(bytes_);
    if (options_.pages == Pages::Huge) {
      words += " of huge pages";
    }
    if (options_.numa_node) {
      words += fmt::format(" on NUMA node {}", *options_.numa_node);
    }
    return words;
  }

 private:
  sys::Pages pages_;
  std::uint64_t bytes_;
  HostOptions options_;
};

// GPU memory is allocated in whole GPU pages; a dma-buf begins and ends at a page of the host.
constexpr std::uint64_t kGpuPage = std::uint64_t{2} << 20;

constexpr std::string_view kLoadModule = "as root: modprobe nvidia-peermem";

bool has_peer_memory(const sys::Root& root) {
  return root.exists("/sys/module/nvidia_peermem") || root.exists("/sys/module/nv_peer_mem");
}

class GpuBuffer final : public Buffer {
 public:
  GpuBuffer(std::unique_ptr<gpu::Cuda> cuda, gpu::Memory memory, std::uint64_t bytes,
            sys::Descriptor dmabuf)
      : cuda_(std::move(cuda)),
        memory_(std::move(memory)),
        bytes_(bytes),
        dmabuf_(std::move(dmabuf)) {}

  verbs::MemoryView view() const override {
    verbs::MemoryView view{.address = memory_.address(), .bytes = bytes_};
    if (dmabuf_) {
      view.dmabuf = dmabuf_.get();
      view.dmabuf_offset = memory_.address() % sys::page_bytes();
    }
    return view;
  }
  std::byte* host() override { return nullptr; }

  Result<> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    TRY(check_inside(bytes_, offset, bytes.size()));
    return memory_.gpu().write(memory_.address() + offset, bytes);
  }
  Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
    TRY(check_inside(bytes_, offset, bytes.size()));
    return memory_.gpu().read(memory_.address() + offset, bytes);
  }
  std::string describe() const override {
    return fmt::format("{} on {} by {}", size_words(bytes_), memory_.gpu().name(),
                       dmabuf_ ? "dma-buf" : "nvidia-peermem");
  }

 private:
  std::unique_ptr<gpu::Cuda> cuda_;
  gpu::Memory memory_;
  std::uint64_t bytes_;
  sys::Descriptor dmabuf_;  // empty: nvidia-peermem
};

Result<sys::Descriptor> share(const gpu::Memory& memory, std::uint64_t bytes) {
  const std::uint64_t page = sys::page_bytes();
  const std::uint64_t before = memory.address() % page;
  const std::uint64_t whole = (before + bytes + page - 1) / page * page;
  auto shared = memory.gpu().export_dmabuf(memory.address() - before, whole);
  if (!shared) {
    shared.error().next_step = fmt::format(
        "dma-buf wants NVIDIA's open kernel modules and Linux 5.12; or nvidia-peermem instead, {}",
        kLoadModule);
  }
  return shared;
}

std::unexpected<Error> no_peer_memory(const gpu::Memory& memory) {
  return fail(ErrorKind::Unsupported, "share GPU memory", memory.gpu().name(),
              "nvidia-peermem is not loaded", kLoadModule);
}

// An empty descriptor means nvidia-peermem.
Result<sys::Descriptor> choose(const sys::Root& root, const gpu::Memory& memory,
                               std::uint64_t bytes, std::optional<GpuPath> path) {
  const bool peer_memory = has_peer_memory(root);
  if (path == GpuPath::PeerMemory) {
    return peer_memory ? Result<sys::Descriptor>(sys::Descriptor{}) : no_peer_memory(memory);
  }
  auto shared = share(memory, bytes);
  return !shared && !path && peer_memory ? Result<sys::Descriptor>(sys::Descriptor{})
                                         : std::move(shared);
}

}  // namespace

Result<std::unique_ptr<Buffer>> gpu_buffer_in(const GpuSurveyContext& host, std::uint64_t bytes,
                                              const GpuOptions& options) {
  auto driver = gpu::Driver::open(host.driver);
  if (!driver) {
    driver.error().next_step += ", or test with host memory";
    return fail(std::move(driver.error()));
  }
  TRY(auto cuda, gpu::Cuda::open(std::move(*driver), options.gpu));
  const std::uint64_t whole =
      (std::max<std::uint64_t>(bytes, 1) + kGpuPage - 1) / kGpuPage * kGpuPage;
  TRY(auto memory, gpu::Memory::allocate(*cuda, whole));
  cuda->synchronise_copies(memory.address());
  TRY(auto dmabuf, choose(host.root, memory, bytes, options.path));
  return std::make_unique<GpuBuffer>(std::move(cuda), std::move(memory), bytes, std::move(dmabuf));
}

Result<std::unique_ptr<Buffer>> gpu_buffer(std::uint64_t bytes, const GpuOptions& options) {
  return gpu_buffer_in({}, bytes, options);
}

Result<std::unique_ptr<Buffer>> host_buffer(std::uint64_t bytes, const HostOptions& options) {
  TRY(auto pages, sys::Pages::map(bytes, {.huge = options.pages == Pages::Huge,
                                          .numa_node = options.numa_node}));
  return std::make_unique<HostBuffer>(std::move(pages), bytes, options);
}

}  // namespace chokepoint::rdma::verbs
