// How much payload one segment of a direction carries, which is what super-frames are cut by. Told
// by the handshake where it was seen; else by the frames themselves: a super-frame is mostly a
// whole number of full segments, and the end of a burst is often one full segment alone. A value.
#pragma once

#include <cstdint>

namespace chokepoint::capture::flow {

class SegmentSize {
 public:
  // What both ends agreed on: the smaller MSS less what the timestamp option takes.
  void agreed(std::uint32_t payload_bytes) {
    is_agreed_ = true;
    bytes_ = payload_bytes;
  }

  // Where nothing was agreed on. What is no larger than what was seen teaches nothing.
  void saw(std::uint32_t payload_bytes) {
    if (!is_agreed_ && payload_bytes > largest_common_) {
      learn(payload_bytes);
    }
  }

  // 0: not known, and no frame so far was larger than a segment may be.
  std::uint32_t bytes() const { return bytes_; }
  bool is_agreed() const { return is_agreed_; }

 private:
  void learn(std::uint32_t payload_bytes);
  std::uint32_t learned() const;

  bool is_agreed_ = false;
  std::uint32_t bytes_ = 0;
  std::uint32_t largest_common_ = 0;  // of those that fit 1500 bytes
  std::uint32_t largest_jumbo_ = 0;   // of those that fit 9000 bytes
  std::int32_t votes_for_jumbo_ = 0;
  bool is_beyond_common_ = false;
  bool is_beyond_jumbo_ = false;
};

}  // namespace chokepoint::capture::flow
