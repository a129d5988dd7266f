// Reads bytes that need not be a capture, in pieces, and aborts where a reader breaks its word:
// each frame lies inside the batch and belongs to a known interface; the end comes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "capture/source/file_source.h"
#include "tests/capture/source/bytes.h"

namespace chokepoint::capture::source {

inline void check_that(bool holds) {
  if (!holds) {
    std::abort();
  }
}

inline void check_batch(const Batch& batch, const std::vector<Interface>& interfaces) {
  check_that(batch.frames.size() <= kBatchFrames);
  std::uint64_t sum = 0;
  for (const packet::Frame& frame : batch.frames) {
    check_that(frame.interface < interfaces.size());
    check_that(frame.captured_bytes <= frame.frame_bytes);
    const auto at = static_cast<std::size_t>(frame.data - batch.bytes.data());
    check_that(at + frame.captured_bytes <= batch.bytes.size());
    for (std::uint32_t i = 0; i < frame.captured_bytes; ++i) {
      sum += frame.data[i];
    }
  }
  check_that(sum <= 255 * batch.bytes.size());
  for (const Drop& drop : batch.drops) {
    check_that(drop.interface < interfaces.size());
  }
}

inline std::size_t read_any_file(std::span<const std::uint8_t> bytes, std::size_t step) {
  auto source = file_source(std::make_unique<MemoryStream>(bytes, step), "a");
  if (!source) {
    return 0;
  }
  std::size_t frames = 0;
  static Batch batch;  // making one takes longer than reading most files
  for (std::size_t reads = 0;; ++reads) {
    const auto progress = (*source)->read(batch);
    check_that(progress && reads <= bytes.size() + 2);
    check_batch(batch, (*source)->interfaces());
    frames += batch.frames.size();
    if (*progress == Progress::End) {
      return frames;
    }
  }
}

}  // namespace chokepoint::capture::source
