// How far a frame was understood. Headers are walked through from the link inwards:
//
//   data          at                captured            end
//   | seen        | to be looked at | not captured      | padding, FCS
//
// `at` may come to lie behind `captured`, where a header's length is known but the header was cut.
// A value of the decoder; it points into bytes that the frame's owner keeps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "capture/packet/frame.h"

namespace chokepoint::capture::packet {

struct Walk {
  const std::uint8_t* data = nullptr;
  std::uint32_t at = 0;
  std::uint32_t captured = 0;  // never behind `end`
  std::uint32_t end = 0;       // of the innermost packet whose length is known
  // Of what was walked through: bytes that the wire does not have, because the kernel made them up.
  std::uint32_t made_up = 0;
  // Inside a first fragment: lengths may tell of more than this frame has.
  bool is_piece = false;

  explicit Walk(const Frame& frame)
      : data(frame.data),
        captured(std::min(frame.captured_bytes, frame.frame_bytes)),
        end(frame.frame_bytes) {}

  const std::uint8_t* here() const { return data + at; }
  bool has(std::uint32_t bytes) const { return std::uint64_t{at} + bytes <= captured; }
  // From the link to here, as on the wire.
  std::uint32_t headers() const { return at - made_up; }
  // Of the packet, captured or not.
  std::uint32_t rest() const { return at < end ? end - at : 0; }
  std::uint32_t captured_rest() const { return at < captured ? captured - at : 0; }

  // The packet has `bytes` more; false where that contradicts what is known.
  bool limit(std::uint32_t bytes) {
    if (bytes > rest()) {
      return is_piece;
    }
    end = at + bytes;
    captured = std::min(captured, end);
    return true;
  }
};

}  // namespace chokepoint::capture::packet
