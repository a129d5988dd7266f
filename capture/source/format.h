// How a capture file is read: its bytes in order, plain or unpacked (byte_stream.cc), and the
// formats that turn them into frames (pcap, pcapng). Called by file_source, a batch at a time, on
// the thread that reads the file.
//
//   DescriptorStream ─▶ [GzipStream | ZstdStream] ─▶ FileSource ─▶ PcapFormat | PcapngFormat
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

struct Chunk {
  std::size_t bytes = 0;  // 0 without the end: nothing came for 100 ms
  bool ended = false;
};

// A stream may own the one that it reads from. One virtual call for as many bytes as fit into L2.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual Result<Chunk> read(std::span<std::uint8_t> into) = 0;
  // Why the end came too early: "its gzip data is cut off". Empty if it did not.
  virtual std::string flaw() const { return {}; }
};

// The content of a file or a pipe, unpacked if its first bytes say that it is gzip or zstd. "-":
// standard input. Waits for a pipe's first bytes until `interrupt` becomes readable (-1: nothing
// does): an Error of kind Interrupted.
Result<std::unique_ptr<ByteStream>> open_stream(const std::string& path, int interrupt = -1);

struct Consumed {
  std::size_t bytes = 0;    // from the front; frames point into them
  std::size_t wanted = 0;   // how many bytes the next piece needs; 0: the batch is full
  std::string broken = {};  // why the bytes after them cannot be read; empty: they can
};

class Format {
 public:
  virtual ~Format() = default;
  // Adds the frames that lie whole in `bytes`, up to kBatchFrames.
  virtual Consumed take(std::span<const std::uint8_t> bytes, Batch& batch) = 0;

  const std::vector<Interface>& interfaces() const { return interfaces_; }

 protected:
  std::vector<Interface> interfaces_;
};

// The byte order of the machine that wrote the file: this one's, or the other.
enum class ByteOrder : bool { Own, Swapped };

// The number at an address of any alignment.
template <class Number>
Number load(const std::uint8_t* from, ByteOrder order) {
  Number number = 0;
  std::memcpy(&number, from, sizeof(number));
  return order == ByteOrder::Own ? number : std::byteswap(number);
}

}  // namespace chokepoint::capture::source
