#include "base/gpu/cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/gpu/driver.h"

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
  TRY(cuda->start());
  return cuda;
}

Result<> Cuda::start() {
  if (gpu_ < 0 || gpu_ >= driver_->gpus()) {
    return fail(ErrorKind::NotFound, "CUDA", name_, gpus_words(driver_->gpus()),
                "'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may hide some");
  }
  std::array<char, 128> text{};
  TRY(check(functions().device(&device_, gpu_), "open"));
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
  TRY(use());
  TRY(check(functions().memory_info(&free, &all), "ask for its memory"));
  return free;
}

Result<> Cuda::check(Code code, std::string_view operation) const {
  return driver_->check(code, operation, name_);
}

Result<> Cuda::use() const { return check(functions().set_context(context_), "use"); }

Result<Address> Cuda::allocate(std::uint64_t bytes) const {
  Address address = 0;
  TRY(use());
  TRY(check(functions().allocate(&address, bytes), "allocate memory"));
  return address;
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
  TRY(use());
  TRY(check(functions().export_range(&fd, address, bytes, kDmaBufDescriptor, 0),
            "share memory by dma-buf"));
  return sys::Descriptor(fd);
}

void Cuda::synchronise_copies(Address address) const {
  const unsigned on = 1;
  if (use()) {
    functions().set_attribute(&on, kSynchroniseCopies, address);
  }
}

Result<> Cuda::write(Address to, std::span<const std::byte> bytes) const {
  TRY(use());
  return check(functions().to_gpu(to, bytes.data(), bytes.size()), "copy");
}

Result<> Cuda::read(Address from, std::span<std::byte> bytes) const {
  TRY(use());
  return check(functions().from_gpu(bytes.data(), from, bytes.size()), "copy");
}

Result<bool> Cuda::can_reach(const Cuda& peer) const {
  int can = 0;
  TRY(check(functions().can_access_peer(&can, device_, peer.device_),
            fmt::format("ask whether it reaches GPU {}", peer.gpu_)));
  return can != 0;
}

Result<> Cuda::reach(const Cuda& peer, bool directly) const {
  TRY(use());
  const Code code = directly ? functions().enable_peer_access(peer.context_, 0)
                             : functions().disable_peer_access(peer.context_);
  return code == (directly ? kAlreadyEnabled : kNotEnabled)
             ? Result<>()
             : check(code, fmt::format("reach GPU {}", peer.gpu_));
}

Result<Memory> Memory::allocate(const Cuda& gpu, std::uint64_t bytes) {
  TRY(const Address address, gpu.allocate(bytes));
  return Memory(gpu, address, bytes);
}

Memory::Memory(Memory&& other) noexcept
    : gpu_(std::exchange(other.gpu_, nullptr)), address_(other.address_), bytes_(other.bytes_) {}

Memory::~Memory() {
  if (gpu_ != nullptr) {
    gpu_->release(address_);
  }
}

Result<PinnedMemory> PinnedMemory::pin(const Cuda& gpu, sys::Pages pages) {
  TRY(gpu.use());
  TRY(gpu.check(
      gpu.functions().register_host(pages.bytes().data(), pages.bytes().size(), kForEveryGpu),
      "pin host memory"));
  return PinnedMemory(gpu, std::move(pages));
}

Result<PinnedMemory> PinnedMemory::allocate(const Cuda& gpu, std::uint64_t bytes,
                                            std::optional<int> numa_node) {
  TRY(sys::Pages pages, sys::Pages::map(bytes, {.numa_node = numa_node}));
  return pin(gpu, std::move(pages));
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : gpu_(std::exchange(other.gpu_, nullptr)), pages_(std::move(other.pages_)) {}

PinnedMemory::~PinnedMemory() {
  if (gpu_ != nullptr) {
    static_cast<void>(gpu_->use());
    gpu_->functions().unregister_host(pages_.bytes().data());
  }
}

namespace {

// Calls `function` with the GPU's context current.
template <class Function>
Result<> call(const Cuda& gpu, std::string_view operation, Function function) {
  TRY(gpu.use());
  return gpu.check(function(gpu.functions()), operation);
}

}  // namespace

Result<Event> Event::make(const Cuda& gpu) {
  EventHandle handle = nullptr;
  TRY(call(gpu, "make an event",
           [&](const Functions& cuda) { return cuda.create_event(&handle, 0); }));
  return Event(gpu, handle);
}

Event::Event(Event&& other) noexcept
    : gpu_(other.gpu_), handle_(std::exchange(other.handle_, nullptr)) {}

Event::~Event() {
  if (handle_ != nullptr) {
    static_cast<void>(gpu_->use());
    gpu_->functions().destroy_event(handle_);
  }
}

Result<> Event::finish() const {
  return call(*gpu_, "wait", [&](const Functions& cuda) { return cuda.finish_event(handle_); });
}

Result<double> Event::milliseconds_since(const Event& earlier) const {
  float milliseconds = 0;
  TRY(call(*gpu_, "measure time", [&](const Functions& cuda) {
    return cuda.elapsed(&milliseconds, earlier.handle_, handle_);
  }));
  return milliseconds;
}

Result<bool> Event::is_over() const {
  bool over = true;
  TRY(call(*gpu_, "ask an event", [&](const Functions& cuda) {
    const Code code = cuda.query_event(handle_);
    over = code != kNotReady;
    return over ? code : 0;
  }));
  return over;
}

Result<Stream> Stream::make(const Cuda& gpu) {
  StreamHandle handle = nullptr;
  TRY(call(gpu, "make a stream",
           [&](const Functions& cuda) { return cuda.create_stream(&handle, kNonBlocking); }));
  return Stream(gpu, handle);
}

Stream::Stream(Stream&& other) noexcept
    : gpu_(other.gpu_), handle_(std::exchange(other.handle_, nullptr)) {}

Stream::~Stream() {
  if (handle_ != nullptr) {
    static_cast<void>(gpu_->use());
    gpu_->functions().destroy_stream(handle_);
  }
}

Result<> Stream::to_gpu(Address to, std::span<const std::byte> bytes) const {
  return call(*gpu_, "copy to it", [&](const Functions& cuda) {
    return cuda.to_gpu_later(to, bytes.data(), bytes.size(), handle_);
  });
}

Result<> Stream::from_gpu(std::span<std::byte> to, Address from) const {
  return call(*gpu_, "copy from it", [&](const Functions& cuda) {
    return cuda.from_gpu_later(to.data(), from, to.size(), handle_);
  });
}

Result<> Stream::between(const Cuda& target, Address to, const Cuda& source, Address from,
                         std::uint64_t bytes) const {
  return call(*gpu_, "copy between GPUs", [&](const Functions& cuda) {
    return cuda.to_peer_later(to, target.context(), from, source.context(), bytes, handle_);
  });
}

Result<> Stream::fill(Address at, std::uint32_t word, std::uint64_t words) const {
  return call(*gpu_, "fill memory",
              [&](const Functions& cuda) { return cuda.fill_later(at, word, words, handle_); });
}

Result<> Stream::record(const Event& event) const {
  return call(*gpu_, "record an event",
              [&](const Functions& cuda) { return cuda.record_event(event.native(), handle_); });
}

Result<> Stream::wait_for(const Event& event) const {
  return call(*gpu_, "wait for an event",
              [&](const Functions& cuda) { return cuda.hold_stream(handle_, event.native(), 0); });
}

Result<> Stream::finish() const {
  return call(*gpu_, "wait", [&](const Functions& cuda) { return cuda.finish_stream(handle_); });
}

}  // namespace chokepoint::gpu
