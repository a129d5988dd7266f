// The bytes of a file one after the other, whatever they come through: a descriptor, gzip, zstd.
// Streams stand on each other; each owns the one below it. One virtual call for as many bytes as
// fit into L2. Used by the thread that reads the file.
//
//   DescriptorStream ─▶ [GzipStream | ZstdStream] ─▶ Window
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::capture::source {

struct Chunk {
  std::size_t bytes = 0;  // 0 without the end: nothing came for 100 ms
  bool ended = false;
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual Result<Chunk> read(std::span<std::uint8_t> into) = 0;
  // Why the end came too early: "its gzip data is cut off". Empty where it did not.
  virtual std::string flaw() const { return {}; }
};

// `seen`: bytes that were read from the descriptor already, to know what the file is.
std::unique_ptr<ByteStream> descriptor_stream(sys::Descriptor descriptor, std::string name,
                                              std::vector<std::uint8_t> seen);
std::unique_ptr<ByteStream> gzip_stream(std::unique_ptr<ByteStream> below);
std::unique_ptr<ByteStream> zstd_stream(std::unique_ptr<ByteStream> below);

// The file's content, unpacked where its first bytes say that it is packed. "-": standard input.
Result<std::unique_ptr<ByteStream>> open_stream(const std::string& path);

}  // namespace chokepoint::capture::source
