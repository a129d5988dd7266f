#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/file.h"
#include "capture/source/format.h"

namespace chokepoint::capture::source {
namespace {

constexpr int kPatienceMs = 100;

bool may_wait(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode);
}

// `seen`: bytes that were already read from the descriptor, to recognise the file.
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

constexpr std::size_t kPackedBytes = std::size_t{64} << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> below)
      : below_(std::move(below)), packed_(kPackedBytes) {
    inflateInit2(&state_, kGzipOnly);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { inflateEnd(&state_); }

  Result<Chunk> read(std::span<std::uint8_t> into) override {
    if (state_.avail_in == 0 && !below_ended_) {
      TRY(const Chunk below, below_->read(packed_));
      state_.next_in = packed_.data();
      state_.avail_in = static_cast<uInt>(below.bytes);
      below_ended_ = below.ended;
    }
    return unpack(into);
  }

  std::string flaw() const override { return flaw_; }

 private:
  Chunk unpack(std::span<std::uint8_t> into) {
    state_.next_out = into.data();
    state_.avail_out = static_cast<uInt>(into.size());
    const int outcome =
        state_.avail_in == 0 && between_ ? Z_BUF_ERROR : inflate(&state_, Z_NO_FLUSH);
    const std::size_t made = into.size() - state_.avail_out;
    if (outcome == Z_STREAM_END) {
      // Files put together with cat are several streams.
      inflateReset(&state_);
      between_ = true;
    } else if (outcome == Z_OK) {
      between_ = false;
    } else if (outcome != Z_BUF_ERROR) {
      flaw_ = "its gzip data is damaged";
      return {.bytes = made, .ended = true};
    }
    const bool ended = below_ended_ && state_.avail_in == 0 && made == 0;
    if (ended && !between_) {
      flaw_ = "its gzip data is cut off";
    }
    return {.bytes = made, .ended = ended};
  }

  std::unique_ptr<ByteStream> below_;
  std::vector<std::uint8_t> packed_;
  z_stream state_{};
  bool below_ended_ = false;
  bool between_ = false;  // one stream has ended, and the next has not begun
  std::string flaw_;
};

class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<ByteStream> below)
      : below_(std::move(below)),
        state_(ZSTD_createDStream(), ZSTD_freeDStream),
        packed_(ZSTD_DStreamInSize()) {}

  Result<Chunk> read(std::span<std::uint8_t> into) override {
    if (input_.pos == input_.size && !below_ended_) {
      TRY(const Chunk below, below_->read(packed_));
      input_ = {packed_.data(), below.bytes, 0};
      below_ended_ = below.ended;
    }
    return unpack(into);
  }

  std::string flaw() const override { return flaw_; }

 private:
  Chunk unpack(std::span<std::uint8_t> into) {
    ZSTD_outBuffer output{into.data(), into.size(), 0};
    const std::size_t before = input_.pos;
    const std::size_t hint = ZSTD_decompressStream(state_.get(), &output, &input_);
    if (ZSTD_isError(hint) != 0) {
      flaw_ = std::string("its zstd data is damaged: ") + ZSTD_getErrorName(hint);
      return {.bytes = output.pos, .ended = true};
    }
    if (input_.pos != before || output.pos > 0) {
      inside_ = hint != 0;
    }
    const bool ended = below_ended_ && input_.pos == input_.size && output.pos == 0;
    if (ended && inside_) {
      flaw_ = "its zstd data is cut off";
    }
    return {.bytes = output.pos, .ended = ended};
  }

  std::unique_ptr<ByteStream> below_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> state_;
  std::vector<std::uint8_t> packed_;
  ZSTD_inBuffer input_{};
  bool below_ended_ = false;
  bool inside_ = false;  // a frame of zstd's has begun and not ended
  std::string flaw_;
};

constexpr std::array<std::uint8_t, 2> kGzip{0x1f, 0x8b};
constexpr std::array<std::uint8_t, 4> kZstd{0x28, 0xb5, 0x2f, 0xfd};
constexpr std::size_t kMagicBytes = 4;

bool begins_with(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> magic) {
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), magic);
}

Result<sys::Descriptor> open_descriptor(const std::string& path) {
  if (path != "-") {
    return sys::open_input(path, "open capture");
  }
  // Standard input is the process's; the stream closes a copy.
  sys::Descriptor descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!descriptor) {
    return fail(from_errno(errno, "open capture", path));
  }
  return descriptor;
}

Result<std::vector<std::uint8_t>> first_bytes(int descriptor, const std::string& path,
                                              int interrupt) {
  std::vector<std::uint8_t> bytes(kMagicBytes);
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    // A pipe to which nobody has written yet would read as one that has ended.
    std::array<pollfd, 2> waiting{pollfd{.fd = descriptor, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = interrupt, .events = POLLIN, .revents = 0}};
    if (may_wait(descriptor)) {
      poll(waiting.data(), waiting.size(), -1);
    }
    if (waiting[1].revents != 0) {
      return fail(ErrorKind::Interrupted, "read capture", path, "interrupted before it began");
    }
    const ssize_t count = read(descriptor, bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
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

Result<std::unique_ptr<ByteStream>> open_stream(const std::string& path, int interrupt) {
  TRY(auto descriptor, open_descriptor(path));
  TRY(auto magic, first_bytes(descriptor.get(), path, interrupt));
  const bool gzip = begins_with(magic, kGzip);
  const bool zstd = begins_with(magic, kZstd);
  std::unique_ptr<ByteStream> plain =
      std::make_unique<DescriptorStream>(std::move(descriptor), path, std::move(magic));
  if (gzip) {
    return std::make_unique<GzipStream>(std::move(plain));
  }
  if (zstd) {
    return std::make_unique<ZstdStream>(std::move(plain));
  }
  return plain;
}

}  // namespace chokepoint::capture::source
