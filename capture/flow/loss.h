// Positions in one direction's stream, and what is kept of a direction that lost packets: holes at
// the tap, ranges that the receiver reported by SACK, and the latest retransmissions. Owned by a
// Half, used by the engine's thread. Fixed memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/flow/budget.h"

namespace chokepoint::capture::flow {

// TCP's sequence numbers wrap after 4 GB; positions do not. A position counts the bytes of one
// direction: 0 is the byte behind the SYN, or the first one seen. Bytes sent before the capture
// began have negative positions.
using Position = std::int64_t;

// The position of this sequence number that is closest to `near`, the highest one so far.
inline Position unwrap(std::uint32_t sequence, std::uint32_t origin, Position near) {
  const auto step = sequence - (origin + static_cast<std::uint32_t>(near));
  return near + static_cast<std::int32_t>(step);
}

struct Range {
  Position begin = 0;
  Position end = 0;

  Position bytes() const { return end - begin; }
};

// Disjoint ranges in order: what the receiver has reported by SACK. If there are too many, the two
// nearest neighbours are joined, so that a hostile peer costs bounded time.
class Ranges {
 public:
  static constexpr std::size_t kMaxRanges = 32;

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  Position bytes() const { return bytes_; }
  Position highest() const { return count_ == 0 ? 0 : ranges_[count_ - 1].end; }
  const Range& operator[](std::size_t index) const { return ranges_[index]; }

  void add(Range range);
  void remove_below(Position position);
  void clear();
  bool covers(Range range) const;

 private:
  void join_nearest();
  void erase(std::size_t first, std::size_t last);
  void insert(std::size_t at, Range range);

  std::array<Range, kMaxRanges + 1> ranges_{};
  std::size_t count_ = 0;
  Position bytes_ = 0;
};

// A range that is missing at the tap, and what is known about the packet behind it. When the range
// is filled, this decides whether the filling packet was overtaken (sent before that packet) or
// retransmitted (sent after it).
struct Hole {
  Range range{};
  std::int64_t opened_ns = 0;
  std::uint32_t timestamp = 0;  // of the packet behind the hole
  std::uint16_t ip_id = 0;      // of the same; 0: it has none
  bool has_timestamp = false;
};

// If there are too many, the oldest is dropped.
class Holes {
 public:
  static constexpr std::size_t kMaxHoles = 64;

  bool empty() const { return count_ == 0; }
  void open(const Hole& hole);
  // The first hole that shares bytes with the range; null if none does.
  const Hole* find(Range range) const;
  // Removes the range from all holes. Returns how many bytes were filled.
  Position fill(Range range);
  // Removes holes below an acknowledged position: those bytes arrived, unseen here. Returns how
  // many.
  Position give_up_below(Position position);

 private:
  void erase(std::size_t index);
  void split(std::size_t index, Range range);

  std::array<Hole, kMaxHoles> holes_{};
  std::size_t count_ = 0;
};

struct Resent {
  Range range{};
  std::uint32_t segments = 0;
  bool is_spurious = false;
};

// Made at the first loss; most flows never have one.
class Loss {
 public:
  explicit Loss(Budget& budget) : share_(budget) { share_.grow(sizeof(Loss)); }

  Holes holes;
  Ranges sacked;

  void resent(const Resent& resent) { resent_[count_++ % kRemembered] = resent; }

  // The receiver reported by DSACK that it had this range already. Returns how many retransmitted
  // segments become spurious by that.
  std::uint32_t had_already(Range range) {
    std::uint32_t segments = 0;
    for (Resent& each : resent_) {
      if (!each.is_spurious && each.range.begin < range.end && range.begin < each.range.end) {
        each.is_spurious = true;
        segments += each.segments;
      }
    }
    return segments;
  }

 private:
  static constexpr std::size_t kRemembered = 32;

  std::array<Resent, kRemembered> resent_{};
  std::size_t count_ = 0;
  Share share_;
};

}  // namespace chokepoint::capture::flow
