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

namespace {

// Calls `function` with the GPU's context current.
template <class Function>
Result<> call(const Cuda& gpu, std::string_view operation, Function function) {
  auto done = gpu.use();
  return done ? gpu.check(function(gpu.functions()), operation) : done;
}

}  // namespace

Result<Event> Event::make(const Cuda& gpu) {
  EventHandle handle = nullptr;
  auto done = call(gpu, "make an event",
                   [&](const Functions& cuda) { return cuda.create_event(&handle, 0); });
  return done ? Result<Event>(Event(gpu, handle)) : fail(std::move(done.error()));
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
  auto done = call(*gpu_, "measure time", [&](const Functions& cuda) {
    return cuda.elapsed(&milliseconds, earlier.handle_, handle_);
  });
  return done ? Result<double>(milliseconds) : fail(std::move(done.error()));
}

Result<bool> Event::is_over() const {
  bool over = true;
  auto done = call(*gpu_, "ask an event", [&](const Functions& cuda) {
    const Code code = cuda.query_event(handle_);
    over = code != kNotReady;
    return over ? code : 0;
  });
  return done ? Result<bool>(over) : fail(std::move(done.error()));
}

Result<Stream> Stream::make(const Cuda& gpu) {
  StreamHandle handle = nullptr;
  auto done = call(gpu, "make a stream", [&](const Functions& cuda) {
    return cuda.create_stream(&handle, kNonBlocking);
  });
  return done ? Result<Stream>(Stream(gpu, handle)) : fail(std::move(done.error()));
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
