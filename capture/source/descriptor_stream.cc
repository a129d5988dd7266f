#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "capture/source/byte_stream.h"

namespace chokepoint::capture::source {
namespace {

constexpr int kPatienceMs = 100;

bool may_wait(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode);
}

class DescriptorStream final : public ByteStream {
 public:
  DescriptorStream(sys::Descriptor descriptor, std::string name, std::vector<std::uint8_t> seen)
      : descriptor_(std::move(descriptor)),
        name_(std::move(name)),
        seen_(std::move(seen)),
        may_wait_(may_wait(descriptor_.get())) {}

  Result<Chunk> read(std::span<std::uint8_t> into) override {
    const std::size_t again = std::min(seen_.size(), into.size());
    std::copy_n(seen_.begin(), again, into.begin());
    seen_.erase(seen_.begin(), seen_.begin() + static_cast<std::ptrdiff_t>(again));
    if (again > 0) {
      return Chunk{.bytes = again};
    }
    return from_descriptor(into);
  }

 private:
  Result<Chunk> from_descriptor(std::span<std::uint8_t> into) {
    pollfd waiting{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
    if (may_wait_ && poll(&waiting, 1, kPatienceMs) == 0) {
      return Chunk{};
    }
    const ssize_t count = ::read(descriptor_.get(), into.data(), into.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      return Chunk{};
    }
    if (count < 0) {
      return fail(from_errno(errno, "read capture", name_));
    }
    return Chunk{.bytes = static_cast<std::size_t>(count), .ended = count == 0};
  }

  sys::Descriptor descriptor_;
  std::string name_;
  std::vector<std::uint8_t> seen_;
  bool may_wait_;
};

}  // namespace

std::unique_ptr<ByteStream> descriptor_stream(sys::Descriptor descriptor, std::string name,
                                              std::vector<std::uint8_t> seen) {
  return std::make_unique<DescriptorStream>(std::move(descriptor), std::move(name),
                                            std::move(seen));
}

}  // namespace chokepoint::capture::source
