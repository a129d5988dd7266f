// Moves along a stream a batch at a time: what a batch could not use (half a packet, or packets
// beyond its number of frames) is kept and stands in front of the next. Used by the thread that
// reads the file; fixed memory, but for a packet larger than a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/source/byte_stream.h"

namespace chokepoint::capture::source {

// Copying from the page cache and parsing is fastest while both stay in L2.
inline constexpr std::size_t kBatchBytes = std::size_t{256} << 10;
inline constexpr std::size_t kBatchFrames = 1024;
// No tap hands over more in one frame; a file that claims it is damaged.
inline constexpr std::size_t kLargestFrame = std::size_t{16} << 20;

class Window {
 public:
  explicit Window(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // The first bytes of the stream, fewer only where it ends; they stay to be read.
  std::span<const std::uint8_t> head(std::size_t bytes);
  void skip_head(std::size_t bytes);

  // What is kept and what comes next, in `bytes`.
  std::span<const std::uint8_t> fill(std::vector<std::uint8_t>& bytes);
  // `rest` is what of the last fill() was not used; the next one makes room for `wanted` bytes.
  void keep(std::span<const std::uint8_t> rest, std::size_t wanted);

  // Nothing comes after what fill() gave, for this reason where there is one.
  bool ended() const { return ended_; }
  const std::optional<Error>& error() const { return error_; }
  std::string flaw() const { return stream_->flaw(); }

 private:
  std::size_t read(std::span<std::uint8_t> into);

  std::unique_ptr<ByteStream> stream_;
  std::vector<std::uint8_t> kept_;
  std::size_t wanted_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace chokepoint::capture::source
