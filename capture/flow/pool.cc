#include "capture/flow/pool.h"

namespace chokepoint::capture::flow {

std::uint32_t Pool::make() {
  std::uint32_t slot = made_;
  if (free_.empty()) {
    if ((made_ & ((1U << kChunkBits) - 1)) == 0) {
      chunks_.push_back(std::make_unique<Entry[]>(std::size_t{1} << kChunkBits));
    }
    ++made_;
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  link_newest(slot);
  ++size_;
  return slot;
}

void Pool::remove(std::uint32_t slot) {
  Entry& gone = entry(slot);
  unlink(gone);
  const std::uint32_t generation = gone.flow.generation + 1;
  gone.flow = Flow{};
  gone.flow.generation = generation;
  free_.push_back(slot);
  --size_;
}

void Pool::unlink(const Entry& gone) {
  (gone.older == kNoSlot ? oldest_ : entry(gone.older).newer) = gone.newer;
  (gone.newer == kNoSlot ? newest_ : entry(gone.newer).older) = gone.older;
}

void Pool::link_newest(std::uint32_t slot) {
  Entry& linked = entry(slot);
  linked.older = newest_;
  linked.newer = kNoSlot;
  (newest_ == kNoSlot ? oldest_ : entry(newest_).newer) = slot;
  newest_ = slot;
}

}  // namespace chokepoint::capture::flow
