#include "capture/flow/sent_log.h"

#include <algorithm>

namespace chokepoint::capture::flow {
namespace {

// Without acknowledgements there is no round trip to measure; a few segments still distinguish a
// copy from a retransmission.
constexpr std::size_t kMaxUnanswered = 256;
constexpr std::size_t kRemembered = 64;

}  // namespace

bool SentLog::make_room(const Sent& sent, bool acknowledgements_seen) {
  const std::size_t most = acknowledgements_seen ? kMaxSegments : kMaxUnanswered;
  if (capacity_ < most) {
    grow();
    return true;
  }
  if (!acknowledgements_seen) {
    ++first_;
    return true;
  }
  Sent& last = at(past_ - 1);
  last.length += sent.length;
  last.end = sent.end;
  return false;
}

void SentLog::grow() {
  const std::size_t capacity = std::max(kMinSegments, capacity_ * 2);
  auto segments = std::make_unique_for_overwrite<Sent[]>(capacity);
  const std::size_t remembered = first_remembered();
  const std::size_t held = past_ - remembered;
  for (std::size_t i = 0; i < held; ++i) {
    segments[i] = at(remembered + i);
  }
  share_.grow((capacity - capacity_) * sizeof(Sent));
  segments_ = std::move(segments);
  capacity_ = capacity;
  first_ -= remembered;
  past_ = held;
}

// Acknowledged segments stay in the array until their place is needed.
std::size_t SentLog::first_remembered() const {
  return first_ - std::min({first_, kRemembered, capacity_ - count()});
}

const Sent* SentLog::find(Position position) const {
  std::size_t low = first_remembered();
  std::size_t high = past_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (at(middle).end <= position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < past_ && at(low).begin() <= position ? &at(low) : nullptr;
}

}  // namespace chokepoint::capture::flow
