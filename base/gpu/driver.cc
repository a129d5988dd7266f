#include "base/gpu/driver.h"

#include <fmt/format.h>

#include "base/gpu/codes.h"

namespace chokepoint::gpu {
namespace {

constexpr std::string_view kListGpus =
    "'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may hide some";

ErrorKind kind_of(int code) {
  switch (code) {
    case kOutOfMemory:
      return ErrorKind::Exhausted;
    case kNoDevice:
    case kInvalidDevice:
      return ErrorKind::NotFound;
    case kNotPermitted:
      return ErrorKind::Permission;
    case kNotSupported:
    case kInvalidValue:
    case kPeerAccessUnsupported:
      return ErrorKind::Unsupported;
    default:
      return ErrorKind::Io;
  }
}

std::string_view next_step_of(int code) {
  switch (code) {
    case kOutOfMemory:
      return "a smaller buffer, or another GPU; 'nvidia-smi' shows who holds the memory";
    case kNoDevice:
    case kInvalidDevice:
      return kListGpus;
    case kNotSupported:
    case kInvalidValue:
    case kPeerAccessUnsupported:
      return {};
    default:
      return "'nvidia-smi' and 'dmesg' may tell more";
  }
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
  auto opened = sys::Library::open_for_good(library);
  if (!opened) {
    return fail(ErrorKind::NotFound, "CUDA", library, "the GPU driver is not on this host",
                "install NVIDIA's driver");
  }
  std::shared_ptr<Driver> driver(new Driver(std::move(*opened)));
  if (const char* missing = driver->functions_.load(driver->library_)) {
    return fail(ErrorKind::Unsupported, "CUDA", library,
                fmt::format("this driver lacks {}", missing), "install a newer driver of NVIDIA");
  }
  if (auto started = driver->start(library); !started) {
    return fail(std::move(started.error()));
  }
  return driver;
}

Result<> Driver::start(const std::string& name) {
  if (auto done = check(functions_.init(0), "start CUDA", name); !done) {
    return done;
  }
  if (auto done = check(functions_.device_count(&gpus_), "list GPUs", name); !done) {
    return done;
  }
  if (functions_.version(&version_) != 0) {
    version_ = 0;
  }
  return gpus_ > 0 ? Result<>()
                   : fail(ErrorKind::NotFound, "CUDA", name, "this host has no GPU", kListGpus);
}

Result<> Driver::check(Code code, std::string_view operation, std::string_view subject) const {
  if (code == 0) {
    return {};
  }
  const char* reason = nullptr;
  const bool known = functions_.error_string(code, &reason) == 0 && reason != nullptr;
  return fail(kind_of(code), fmt::format("CUDA: {}", operation), subject,
              known ? std::string(reason) : fmt::format("error {}", code), next_step_of(code));
}

}  // namespace chokepoint::gpu
