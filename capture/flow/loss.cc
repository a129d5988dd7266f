#include "capture/flow/loss.h"

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
  if (count_ > kMaxRanges) {
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

namespace {

Range common(Range a, Range b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

}  // namespace

void Holes::open(const Hole& hole) {
  if (count_ == kMaxHoles) {
    erase(0);
  }
  holes_[count_++] = hole;
}

const Hole* Holes::find(Range range) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (common(holes_[i].range, range).bytes() > 0) {
      return &holes_[i];
    }
  }
  return nullptr;
}

Position Holes::fill(Range range) {
  Position filled = 0;
  for (std::size_t i = 0; i < count_;) {
    const Range both = common(holes_[i].range, range);
    if (both.bytes() <= 0) {
      ++i;
      continue;
    }
    filled += both.bytes();
    if (both.begin == holes_[i].range.begin && both.end == holes_[i].range.end) {
      erase(i);
    } else {
      split(i, both);
      ++i;
    }
  }
  return filled;
}

Position Holes::give_up_below(Position position) {
  Position given_up = 0;
  while (count_ > 0 && holes_[0].range.begin < position) {
    Hole& hole = holes_[0];
    given_up += std::min(hole.range.end, position) - hole.range.begin;
    if (hole.range.end > position) {
      hole.range.begin = position;
      break;
    }
    erase(0);
  }
  return given_up;
}

void Holes::erase(std::size_t index) {
  std::move(holes_.begin() + static_cast<std::ptrdiff_t>(index + 1),
            holes_.begin() + static_cast<std::ptrdiff_t>(count_),
            holes_.begin() + static_cast<std::ptrdiff_t>(index));
  --count_;
}

// If there is no room for two, the upper part is dropped.
void Holes::split(std::size_t index, Range range) {
  Hole upper = holes_[index];
  upper.range.begin = range.end;
  Hole& lower = holes_[index];
  if (range.begin == lower.range.begin) {
    lower.range.begin = range.end;
    return;
  }
  lower.range.end = range.begin;
  if (upper.range.bytes() > 0 && count_ < kMaxHoles) {
    std::move_backward(holes_.begin() + static_cast<std::ptrdiff_t>(index + 1),
                       holes_.begin() + static_cast<std::ptrdiff_t>(count_),
                       holes_.begin() + static_cast<std::ptrdiff_t>(count_ + 1));
    holes_[index + 1] = upper;
    ++count_;
  }
}

}  // namespace chokepoint::capture::flow
