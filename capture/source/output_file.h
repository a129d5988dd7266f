// A file that is written from front to end, compressed if its name ends in ".zst". Appended bytes
// stay in memory until flush(), or until there are enough to write: a killed process leaves a file
// that is readable up to the last flush. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

struct ZSTD_CCtx_s;

namespace chokepoint::capture::source {

// Replaces an existing file. "-": standard output. Where the user chose the name it may be a pipe
// or a device, see sys::open_output(); a name of ours, in a folder of others, is a regular file's.
enum class CaptureName : std::uint8_t { OfUser, Ours };
Result<sys::Descriptor> open_capture_file(const std::string& path, CaptureName name);

class OutputFile {
 public:
  // `descriptor`: what open_capture_file() gave, or a pipe that leads to it.
  OutputFile(std::string path, sys::Descriptor descriptor);

  // Room for so many bytes, to be filled now; null if the file has failed: see error().
  std::uint8_t* append(std::size_t bytes);
  Result<> flush();
  // flush(), and the end of the compressed data and of the file.
  Result<> finish();

  const std::optional<Error>& error() const { return error_; }
  // Bytes written, plus those waiting in memory, which are not compressed yet.
  std::uint64_t size() const { return on_disk_ + used_; }
  const std::string& path() const { return path_; }

 private:
  using Compressor = std::unique_ptr<ZSTD_CCtx_s, std::size_t (*)(ZSTD_CCtx_s*)>;
  enum class WriteUntil { Full, Flushed, Finished };

  Result<> write_out(WriteUntil until);
  Result<> compress(std::span<const std::uint8_t> bytes, WriteUntil until);
  Result<> write(std::span<const std::uint8_t> bytes);

  std::string path_;
  sys::Descriptor descriptor_;
  Compressor compressor_;
  std::vector<std::uint8_t> waiting_;
  std::size_t used_ = 0;
  std::vector<std::uint8_t> compressed_;
  std::uint64_t on_disk_ = 0;
  std::optional<Error> error_;
};

}  // namespace chokepoint::capture::source
