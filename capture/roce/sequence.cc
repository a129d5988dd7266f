#include "capture/roce/sequence.h"

namespace chokepoint::capture::roce {

namespace {

constexpr std::uint32_t kMask = 0xffffff;

}  // namespace

void Sequence::restart(std::uint32_t psn, std::uint32_t count) {
  is_begun_ = true;
  is_next_known_ = true;
  next_ = (psn + count) & kMask;
  gaps_ = {};
}

void Sequence::remember(Gap gap) {
  gaps_[next_gap_] = gap;
  next_gap_ = (next_gap_ + 1) % kMostGaps;
}

bool Sequence::fill(std::uint32_t psn) {
  for (Gap& gap : gaps_) {
    const std::uint32_t place = (psn - gap.begin) & kMask;
    if (place >= gap.count) {
      continue;
    }
    const Gap behind = {.begin = (psn + 1) & kMask, .count = gap.count - place - 1};
    gap.count = place;
    if (place == 0) {
      gap = behind;
    } else if (behind.count != 0) {
      remember(behind);
    }
    --missing_;
    return true;
  }
  return false;
}

Sequence::Step Sequence::take(std::uint32_t psn, std::uint32_t count) {
  if (!is_begun_) {
    restart(psn, count);
    return Step::New;
  }
  const std::int32_t ahead = difference(psn, next_);
  if (ahead > kMostOutstanding || ahead < -kMostOutstanding) {
    restart(psn, count);
    return Step::Restart;
  }
  if (ahead < 0) {
    return fill(psn) ? Step::Filled : Step::Again;
  }
  const bool is_gap = ahead > 0 && is_next_known_;
  if (is_gap) {
    missing_ += static_cast<std::uint32_t>(ahead);
    remember({.begin = next_, .count = static_cast<std::uint32_t>(ahead)});
  }
  next_ = (psn + count) & kMask;
  is_next_known_ = true;
  return is_gap ? Step::Gap : Step::New;
}

}  // namespace chokepoint::capture::roce
