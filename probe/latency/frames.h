// What a connection of a responsiveness test carries after its Attach: frames, as HTTP/2 has them,
// so that a small request and its answer go between the data of a large transfer.
//
//     0        1        2        3        4        5        6        7        8 …
//   ┌────────┬────────┬────────┬────────┬────────┬────────┬────────┬────────┬───────────
//   │ length of the payload    │  type  │ number of the request             │ payload
//   └────────┴────────┴────────┴────────┴────────┴────────┴────────┴────────┴───────────
//
//   Data    up to 16 KiB that mean nothing
//   Get     a request for a small object, no payload
//   Object  the answer: the answering kernel's smoothed round trip of this connection, in
//           microseconds, 32 bits; 0 where it fills nothing or does not know
//   Fill    a request for a large object: Data from then on, without end; no payload
//
// All numbers big-endian. Pure functions and values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sys/error.h"

namespace chokepoint::probe::latency {

enum class FrameType : std::uint8_t { Data = 0, Get = 1, Object = 2, Fill = 3 };

inline constexpr std::size_t kHeadBytes = 8;
inline constexpr std::size_t kDataBytes = std::size_t{16} * 1024;  // HTTP/2's default
inline constexpr std::size_t kObjectBytes = 4;
// The longest frame that is kept: what a reader of a hostile peer needs.
inline constexpr std::size_t kSmallBytes = kHeadBytes + kObjectBytes;

struct FrameHead {
  FrameType type = FrameType::Data;
  std::uint32_t length = 0;  // of the payload
  std::uint32_t number = 0;
};

using FrameHeadBytes = std::array<std::byte, kHeadBytes>;
FrameHeadBytes bytes_of(const FrameHead& head);
// The length has to be one that the type can have.
Result<FrameHead> head_in(std::span<const std::byte, kHeadBytes> bytes);

using ObjectBytes = std::array<std::byte, kSmallBytes>;
ObjectBytes object_bytes(std::uint32_t number, std::uint32_t rtt_us);

struct Frame {
  FrameHead head = {};
  std::uint32_t rtt_us = 0;  // of an Object
};

// Takes bytes as they come, in fixed memory. An error is final.
class FrameScanner {
 public:
  // Calls `on_frame` with each frame that is whole, but for Data, whose bytes are only counted.
  template <class OnFrame>
  Result<> take(std::span<const std::byte> bytes, OnFrame on_frame) {
    while (!bytes.empty()) {
      const std::size_t used = skips() ? skip(bytes.size()) : keep(bytes);
      bytes = bytes.subspan(used);
      if (is_whole_head()) {
        TRY(head_, read_head());
        has_head_ = true;
        left_ = head_.length;
      }
      if (has_head_ && left_ == 0) {
        const Frame frame = finish();
        if (frame.head.type != FrameType::Data) {
          on_frame(frame);
        }
      }
    }
    return {};
  }

  // Payload of Data so far.
  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  bool skips() const { return has_head_ && head_.type == FrameType::Data; }
  bool is_whole_head() const { return !has_head_ && kept_bytes_ == kHeadBytes; }
  std::size_t skip(std::size_t count) {
    const std::size_t used = std::min<std::size_t>(count, left_);
    left_ -= static_cast<std::uint32_t>(used);
    data_bytes_ += used;
    return used;
  }
  Result<FrameHead> read_head() const;
  // What is missing of the head, or of a small payload.
  std::size_t keep(std::span<const std::byte> bytes);
  Frame finish();

  std::array<std::byte, kSmallBytes> kept_{};
  std::size_t kept_bytes_ = 0;
  bool has_head_ = false;
  FrameHead head_ = {};
  std::uint32_t left_ = 0;  // of the payload
  std::uint64_t data_bytes_ = 0;
};

}  // namespace chokepoint::probe::latency
