#include "capture/flow/ranges.h"

#include <algorithm>

namespace chokepoint::capture::flow {

void Ranges::add(Range range) {
  if (range.end <= range.begin) {
    return;
  }
  std::size_t first = 0;
  while (first < count_ && ranges_[first].end < range.begin) {
    ++first;
  }
  std::size_t last = first;
  while (last < count_ && ranges_[last].begin <= range.end) {
    range.begin = std::min(range.begin, ranges_[last].begin);
    range.end = std::max(range.end, ranges_[last].end);
    ++last;
  }
  erase(first, last);
  insert(first, range);
  if (count_ > kMost) {
    join_nearest();
  }
}

void Ranges::remove_below(Position position) {
  std::size_t gone = 0;
  while (gone < count_ && ranges_[gone].end <= position) {
    ++gone;
  }
  erase(0, gone);
  if (count_ > 0 && ranges_[0].begin < position) {
    bytes_ -= position - ranges_[0].begin;
    ranges_[0].begin = position;
  }
}

void Ranges::clear() {
  count_ = 0;
  bytes_ = 0;
}

bool Ranges::covers(Range range) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (ranges_[i].begin <= range.begin && range.end <= ranges_[i].end) {
      return true;
    }
  }
  return false;
}

void Ranges::erase(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    bytes_ -= ranges_[i].bytes();
  }
  std::move(ranges_.begin() + static_cast<std::ptrdiff_t>(last),
            ranges_.begin() + static_cast<std::ptrdiff_t>(count_),
            ranges_.begin() + static_cast<std::ptrdiff_t>(first));
  count_ -= last - first;
}

void Ranges::insert(std::size_t at, Range range) {
  std::move_backward(ranges_.begin() + static_cast<std::ptrdiff_t>(at),
                     ranges_.begin() + static_cast<std::ptrdiff_t>(count_),
                     ranges_.begin() + static_cast<std::ptrdiff_t>(count_ + 1));
  ranges_[at] = range;
  ++count_;
  bytes_ += range.bytes();
}

void Ranges::join_nearest() {
  std::size_t nearest = 0;
  for (std::size_t i = 0; i + 1 < count_; ++i) {
    if (ranges_[i + 1].begin - ranges_[i].end < ranges_[nearest + 1].begin - ranges_[nearest].end) {
      nearest = i;
    }
  }
  const Range joined{ranges_[nearest].begin, ranges_[nearest + 1].end};
  erase(nearest, nearest + 2);
  insert(nearest, joined);
}

}  // namespace chokepoint::capture::flow
