#include "capture/source/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/sys/file.h"
#include "base/sys/regular_file.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kWaitingBytes = std::size_t{256} << 10;
constexpr mode_t kCaptureMode = 0640;  // what others send is not everybody's to read
constexpr const char* kWriteCapture = "write capture";
constexpr int kRoomPatienceMs = 5'000;

// Of a pipe whose reader waits for a disk.
bool has_room(int descriptor) {
  pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return poll(&room, 1, kRoomPatienceMs) > 0;
}

}  // namespace

Result<sys::Descriptor> open_capture_file(const std::string& path, CaptureName name) {
  if (path != "-") {
    return name == CaptureName::OfUser
               ? sys::open_output(path, kCaptureMode, kWriteCapture)
               : sys::open_regular(kWriteCapture, path, O_WRONLY | O_CREAT | O_TRUNC, kCaptureMode);
  }
  sys::Descriptor descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!descriptor) {
    return fail(from_errno(errno, kWriteCapture, path));
  }
  return descriptor;
}

OutputFile::OutputFile(std::string path, sys::Descriptor descriptor)
    : path_(std::move(path)),
      descriptor_(std::move(descriptor)),
      compressor_(nullptr, ZSTD_freeCCtx),
      waiting_(kWaitingBytes) {
  if (path_.ends_with(".zst")) {
    compressor_.reset(ZSTD_createCCtx());
    ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_checksumFlag, 1);
    compressed_.resize(ZSTD_CStreamOutSize());
  }
}

std::uint8_t* OutputFile::append(std::size_t bytes) {
  if (waiting_.size() - used_ < bytes) {
    if (!write_out(WriteUntil::Full)) {
      return nullptr;
    }
    waiting_.resize(std::max(waiting_.size(), bytes));
  }
  return waiting_.data() + std::exchange(used_, used_ + bytes);
}

Result<> OutputFile::flush() { return write_out(WriteUntil::Flushed); }

Result<> OutputFile::finish() {
  const Result<> written = write_out(WriteUntil::Finished);
  descriptor_.reset();
  return written;
}

Result<> OutputFile::write_out(WriteUntil until) {
  if (error_) {
    return fail(*error_);
  }
  const auto bytes = std::span<const std::uint8_t>(waiting_).first(std::exchange(used_, 0));
  auto written = compressor_ ? compress(bytes, until) : write(bytes);
  if (!written) {
    error_ = written.error();
  }
  return written;
}

Result<> OutputFile::compress(std::span<const std::uint8_t> bytes, WriteUntil until) {
  const ZSTD_EndDirective directive = until == WriteUntil::Full      ? ZSTD_e_continue
                                      : until == WriteUntil::Flushed ? ZSTD_e_flush
                                                                     : ZSTD_e_end;
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer output{compressed_.data(), compressed_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(compressor_.get(), &output, &input, directive);
    if (ZSTD_isError(left) != 0) {
      return fail(ErrorKind::Io, kWriteCapture, path_, ZSTD_getErrorName(left));
    }
    TRY(write(std::span(compressed_).first(output.pos)));
    const bool taken = input.pos == input.size;
    if (taken && (until == WriteUntil::Full || left == 0)) {
      return {};
    }
  }
}

Result<> OutputFile::write(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EAGAIN && !has_room(descriptor_.get())) {
      return fail(ErrorKind::Timeout, kWriteCapture, path_, "its disk does not answer");
    }
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (count < 0) {
      return fail(from_errno(errno, kWriteCapture, path_));
    }
    on_disk_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace chokepoint::capture::source
