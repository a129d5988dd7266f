#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "capture/source/byte_stream.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::array<std::uint8_t, 2> kGzip{0x1f, 0x8b};
constexpr std::array<std::uint8_t, 4> kZstd{0x28, 0xb5, 0x2f, 0xfd};
constexpr std::size_t kMagicBytes = 4;

bool begins_with(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> magic) {
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), magic);
}

Result<sys::Descriptor> open_descriptor(const std::string& path) {
  // Standard input is the process's; the stream closes a copy.
  sys::Descriptor descriptor(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                         : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) {
    return fail(from_errno(errno, "open capture", path));
  }
  return descriptor;
}

Result<std::vector<std::uint8_t>> first_bytes(int descriptor, const std::string& path) {
  std::vector<std::uint8_t> bytes(kMagicBytes);
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = read(descriptor, bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno != EINTR) {
      return fail(from_errno(errno, "read capture", path));
    }
    if (count == 0) {
      break;
    }
    filled += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_stream(const std::string& path) {
  TRY(auto descriptor, open_descriptor(path));
  TRY(auto magic, first_bytes(descriptor.get(), path));
  const bool gzip = begins_with(magic, kGzip);
  const bool zstd = begins_with(magic, kZstd);
  auto plain = descriptor_stream(std::move(descriptor), path, std::move(magic));
  if (gzip) {
    return gzip_stream(std::move(plain));
  }
  return zstd ? zstd_stream(std::move(plain)) : std::move(plain);
}

}  // namespace chokepoint::capture::source
