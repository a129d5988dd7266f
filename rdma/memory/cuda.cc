#include "rdma/memory/cuda.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace chokepoint::rdma::memory {
namespace {

constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kNotSupported = 801;
constexpr int kInvalidValue = 1;

constexpr int kSynchroniseCopies = 6;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
constexpr int kDmaBufDescriptor = 1;   // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

ErrorKind kind_of(int code) {
  switch (code) {
    case kOutOfMemory:
      return ErrorKind::Exhausted;
    case kNoDevice:
    case kInvalidDevice:
      return ErrorKind::NotFound;
    case kNotSupported:
    case kInvalidValue:
      return ErrorKind::Unsupported;
    default:
      return ErrorKind::Io;
  }
}

std::string next_step_of(int code) {
  switch (code) {
    case kOutOfMemory:
      return "a smaller buffer, or another GPU; 'nvidia-smi' shows who holds the memory";
    case kNoDevice:
    case kInvalidDevice:
      return "'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may hide some";
    case kNotSupported:
    case kInvalidValue:
      return {};
    default:
      return "'nvidia-smi' and 'dmesg' may tell more";
  }
}

template <class Function>
bool find(const sys::Library& library, const char* name, Function*& function) {
  function = library.function<Function>(name);
  return function != nullptr;
}

}  // namespace

struct Cuda::Functions {
  Code (*init)(unsigned);
  Code (*device_count)(int*);
  Code (*device)(int*, int);
  Code (*device_name)(char*, int, int);
  Code (*retain_context)(Handle*, int);
  Code (*release_context)(int);
  Code (*set_context)(Handle);
  Code (*allocate)(GpuAddress*, std::size_t);
  Code (*free)(GpuAddress);
  Code (*to_gpu)(GpuAddress, const void*, std::size_t);
  Code (*from_gpu)(void*, GpuAddress, std::size_t);
  Code (*set_attribute)(const void*, int, GpuAddress);
  Code (*error_string)(Code, const char**);
  Code (*export_range)(void*, GpuAddress, std::size_t, int, unsigned long long);  // may be missing

  bool load(const sys::Library& library) {
    find(library, "cuMemGetHandleForAddressRange", export_range);
    return find(library, "cuInit", init) && find(library, "cuDeviceGetCount", device_count) &&
           find(library, "cuDeviceGet", device) && find(library, "cuDeviceGetName", device_name) &&
           find(library, "cuDevicePrimaryCtxRetain", retain_context) &&
           find(library, "cuDevicePrimaryCtxRelease_v2", release_context) &&
           find(library, "cuCtxSetCurrent", set_context) &&
           find(library, "cuMemAlloc_v2", allocate) && find(library, "cuMemFree_v2", free) &&
           find(library, "cuMemcpyHtoD_v2", to_gpu) && find(library, "cuMemcpyDtoH_v2", from_gpu) &&
           find(library, "cuPointerSetAttribute", set_attribute) &&
           find(library, "cuGetErrorString", error_string);
  }
};

Cuda::Cuda(sys::Library library, std::unique_ptr<Functions> functions, int gpu)
    : library_(std::move(library)),
      functions_(std::move(functions)),
      gpu_(gpu),
      name_(fmt::format("GPU {}", gpu)) {}

Cuda::~Cuda() {
  if (context_ != nullptr) {
    functions_->release_context(device_);
  }
}

Result<std::unique_ptr<Cuda>> Cuda::open(const std::string& library, int gpu) {
  auto opened = sys::Library::open(library);
  if (!opened) {
    return fail(ErrorKind::NotFound, "CUDA", fmt::format("GPU {}", gpu),
                fmt::format("the GPU driver's {} is not on this host", library),
                "install NVIDIA's driver, or test with host memory");
  }
  auto functions = std::make_unique<Functions>();
  if (!functions->load(*opened)) {
    return fail(ErrorKind::Unsupported, "CUDA", library, "this driver lacks what is needed",
                "install a newer driver of NVIDIA");
  }
  std::unique_ptr<Cuda> cuda(new Cuda(std::move(*opened), std::move(functions), gpu));
  if (auto started = cuda->start(); !started) {
    return fail(std::move(started.error()));
  }
  return cuda;
}

Result<> Cuda::start() {
  if (auto done = check(functions_->init(0), "start CUDA"); !done) {
    return done;
  }
  int count = 0;
  if (auto done = check(functions_->device_count(&count), "list GPUs"); !done) {
    return done;
  }
  if (gpu_ < 0 || gpu_ >= count) {
    return fail(ErrorKind::NotFound, "CUDA", name_,
                count == 0   ? std::string("this host has no GPU")
                : count == 1 ? std::string("this host has GPU 0 only")
                             : fmt::format("this host has GPUs 0 to {}", count - 1),
                next_step_of(kInvalidDevice));
  }
  std::array<char, 128> text{};
  if (auto done = check(functions_->device(&device_, gpu_), "open"); !done) {
    return done;
  }
  if (functions_->device_name(text.data(), static_cast<int>(text.size()) - 1, device_) == 0) {
    name_ += fmt::format(" ({})", text.data());
  }
  return check(functions_->retain_context(&context_, device_), "open");
}

Result<> Cuda::check(Code code, std::string_view operation) const {
  if (code == 0) {
    return {};
  }
  const char* reason = nullptr;
  const bool known = functions_->error_string(code, &reason) == 0 && reason != nullptr;
  return fail(kind_of(code), fmt::format("CUDA: {}", operation), name_,
              known ? std::string(reason) : fmt::format("error {}", code), next_step_of(code));
}

Result<> Cuda::enter() const { return check(functions_->set_context(context_), "use"); }

Result<GpuAddress> Cuda::allocate(std::uint64_t bytes) const {
  GpuAddress address = 0;
  auto done = enter();
  if (done) {
    done = check(functions_->allocate(&address, bytes), "allocate memory");
  }
  return done ? Result<GpuAddress>(address) : fail(std::move(done.error()));
}

void Cuda::release(GpuAddress address) const {
  if (enter()) {
    functions_->free(address);
  }
}

Result<sys::Descriptor> Cuda::export_dmabuf(GpuAddress address, std::uint64_t bytes) const {
  if (functions_->export_range == nullptr) {
    return fail(ErrorKind::Unsupported, "CUDA: share memory by dma-buf", name_,
                "this driver is too old for it");
  }
  int fd = -1;
  auto done = enter();
  if (done) {
    done = check(functions_->export_range(&fd, address, bytes, kDmaBufDescriptor, 0),
                 "share memory by dma-buf");
  }
  return done ? Result<sys::Descriptor>(sys::Descriptor(fd)) : fail(std::move(done.error()));
}

void Cuda::synchronise_copies(GpuAddress address) const {
  const unsigned on = 1;
  if (enter()) {
    functions_->set_attribute(&on, kSynchroniseCopies, address);
  }
}

Result<> Cuda::write(GpuAddress to, std::span<const std::byte> bytes) const {
  auto done = enter();
  return done ? check(functions_->to_gpu(to, bytes.data(), bytes.size()), "copy") : done;
}

Result<> Cuda::read(GpuAddress from, std::span<std::byte> bytes) const {
  auto done = enter();
  return done ? check(functions_->from_gpu(bytes.data(), from, bytes.size()), "copy") : done;
}

}  // namespace chokepoint::rdma::memory
