// A small set of disjoint ranges of positions, in order: what the receiver has reported by SACK.
// Holds a fixed number; beyond it the two nearest neighbours are joined, so that a hostile peer
// costs a bounded effort. Works on the low end in constant time. One thread.
#pragma once

#include <array>
#include <cstddef>

#include "capture/flow/stream_position.h"

namespace chokepoint::capture::flow {

struct Range {
  Position begin = 0;
  Position end = 0;

  Position bytes() const { return end - begin; }
};

class Ranges {
 public:
  static constexpr std::size_t kMost = 32;

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

  std::array<Range, kMost + 1> ranges_{};
  std::size_t count_ = 0;
  Position bytes_ = 0;
};

}  // namespace chokepoint::capture::flow
