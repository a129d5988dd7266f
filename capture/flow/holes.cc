#include "capture/flow/holes.h"

#include <algorithm>

namespace chokepoint::capture::flow {
namespace {

Range common(Range a, Range b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

}  // namespace

void Holes::open(const Hole& hole) {
  if (count_ == kMost) {
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

// Without room for two the upper part is given up.
void Holes::split(std::size_t index, Range range) {
  Hole upper = holes_[index];
  upper.range.begin = range.end;
  Hole& lower = holes_[index];
  if (range.begin == lower.range.begin) {
    lower.range.begin = range.end;
    return;
  }
  lower.range.end = range.begin;
  if (upper.range.bytes() > 0 && count_ < kMost) {
    std::move_backward(holes_.begin() + static_cast<std::ptrdiff_t>(index + 1),
                       holes_.begin() + static_cast<std::ptrdiff_t>(count_),
                       holes_.begin() + static_cast<std::ptrdiff_t>(count_ + 1));
    holes_[index + 1] = upper;
    ++count_;
  }
}

}  // namespace chokepoint::capture::flow
