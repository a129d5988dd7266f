#include "base/gpu/cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/gpu/codes.h"

namespace chokepoint::gpu {
namespace {

std::string gpus_words(int count) {
  return count == 1 ? std::string("this host has GPU 0 only")
                    : fmt::format("this host has GPUs 0 to {}", count - 1);
}

}  // namespace

Cuda::Cuda(std::shared_ptr<const Driver> driver, int gpu)
    : driver_(std::move(driver)), gpu_(gpu), name_(fmt::format("GPU {}", gpu)) {}

Cuda::~Cuda() {
  if (context_ != nullptr) {
    functions().release_context(device_);
  }
}

Result<std::unique_ptr<Cuda>> Cuda::open(std::shared_ptr<const Driver> driver, int gpu) {
  std::unique_ptr<Cuda> cuda(new Cuda(std::move(driver), gpu));
  if (auto started = cuda->start(); !started) {
    return fail(std::move(started.error()));
  }
  return cuda;
}

Result<> Cuda::start() {
  if (gpu_ < 0 || gpu_ >= driver_->gpus()) {
    return fail(ErrorKind::NotFound, "CUDA", name_, gpus_words(driver_->gpus()),
                "'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may hide some");
  }
  std::array<char, 128> text{};
  if (auto done = check(functions().device(&device_, gpu_), "open"); !done) {
    return done;
  }
  if (functions().device_name(text.data(), static_cast<int>(text.size()) - 1, device_) == 0) {
    model_ = text.data();
    name_ += fmt::format(" ({})", model_);
  }
  return check(functions().retain_context(&context_, device_), "open");
}

std::optional<std::string> Cuda::pci_address() const {
  std::array<char, 32> text{};
  if (functions().device_address(text.data(), static_cast<int>(text.size()) - 1, device_) != 0) {
    return std::nullopt;
  }
  std::string address = text.data();
  std::ranges::transform(address, address.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

std::optional<int> Cuda::copy_engines() const {
  int engines = 0;
  return functions().device_attribute(&engines, kCopyEngines, device_) == 0 ? std::optional(engines)
                                                                            : std::nullopt;
}

Result<std::uint64_t> Cuda::free_memory() const {
  std::size_t free = 0;
  std::size_t all = 0;
  auto done = use();
  if (done) {
    done = check(functions().memory_info(&free, &all), "ask for its memory");
  }
  return done ? Result<std::uint64_t>(free) : fail(std::move(done.error()));
}

Result<> Cuda::check(Code code, std::string_view operation) const {
  return driver_->check(code, operation, name_);
}

Result<> Cuda::use() const { return check(functions().set_context(context_), "use"); }

Result<Address> Cuda::allocate(std::uint64_t bytes) const {
  Address address = 0;
  auto done = use();
  if (done) {
    done = check(functions().allocate(&address, bytes), "allocate memory");
  }
  return done ? Result<Address>(address) : fail(std::move(done.error()));
}

void Cuda::release(Address address) const {
  static_cast<void>(use());
  functions().free(address);
}

Result<sys::Descriptor> Cuda::export_dmabuf(Address address, std::uint64_t bytes) const {
  if (functions().export_range == nullptr) {
    return fail(ErrorKind::Unsupported, "CUDA: share memory by dma-buf", name_,
                "this driver is too old for it");
  }
  int fd = -1;
  auto done = use();
  if (done) {
    done = check(functions().export_range(&fd, address, bytes, kDmaBufDescriptor, 0),
                 "share memory by dma-buf");
  }
  return done ? Result<sys::Descriptor>(sys::Descriptor(fd)) : fail(std::move(done.error()));
}

void Cuda::synchronise_copies(Address address) const {
  const unsigned on = 1;
  if (use()) {
    functions().set_attribute(&on, kSynchroniseCopies, address);
  }
}

Result<> Cuda::write(Address to, std::span<const std::byte> bytes) const {
  auto done = use();
  return done ? check(functions().to_gpu(to, bytes.data(), bytes.size()), "copy") : done;
}

Result<> Cuda::read(Address from, std::span<std::byte> bytes) const {
  auto done = use();
  return done ? check(functions().from_gpu(bytes.data(), from, bytes.size()), "copy") : done;
}

Result<bool> Cuda::can_reach(const Cuda& peer) const {
  int can = 0;
  auto done = check(functions().can_access_peer(&can, device_, peer.device_),
                    fmt::format("ask whether it reaches GPU {}", peer.gpu_));
  return done ? Result<bool>(can != 0) : fail(std::move(done.error()));
}

Result<> Cuda::reach(const Cuda& peer, bool directly) const {
  if (auto done = use(); !done) {
    return done;
  }
  const Code code = directly ? functions().enable_peer_access(peer.context_, 0)
                             : functions().disable_peer_access(peer.context_);
  return code == (directly ? kAlreadyEnabled : kNotEnabled)
             ? Result<>()
             : check(code, fmt::format("reach GPU {}", peer.gpu_));
}

Result<Memory> Memory::allocate(const Cuda& gpu, std::uint64_t bytes) {
  auto address = gpu.allocate(bytes);
  return address ? Result<Memory>(Memory(gpu, *address, bytes)) : fail(std::move(address.error()));
}

Memory::Memory(Memory&& other) noexcept
    : gpu_(std::exchange(other.gpu_, nullptr)), address_(other.address_), bytes_(other.bytes_) {}

Memory::~Memory() {
  if (gpu_ != nullptr) {
    gpu_->release(address_);
  }
}

}  // namespace chokepoint::gpu
