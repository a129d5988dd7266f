// A file that is written from front to end, compressed where its name ends in ".zst". What is
// appended lies in memory until flush(), or until there is enough for the disk: so a killed process
// leaves a file that is readable up to the last flush. One thread.
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

class OutputFile {
 public:
  // Replaces what is there. "-": standard output.
  static Result<OutputFile> create(const std::string& path);

  // Where so many bytes are to be put now; null where the file has failed, see error().
  std::uint8_t* append(std::size_t bytes);
  Result<> flush();
  // flush(), and the end of the compressed data.
  Result<> finish();

  const std::optional<Error>& error() const { return error_; }
  // Written and waiting to be; before it is compressed, for the latter.
  std::uint64_t size() const { return on_disk_ + used_; }
  const std::string& path() const { return path_; }

 private:
  using Compressor = std::unique_ptr<ZSTD_CCtx_s, std::size_t (*)(ZSTD_CCtx_s*)>;
  enum class Until { Enough, Flushed, Finished };

  OutputFile(std::string path, sys::Descriptor descriptor);
  Result<> write_out(Until until);
  Result<> compress(std::span<const std::uint8_t> bytes, Until until);
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
