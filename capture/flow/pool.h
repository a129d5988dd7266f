// Holds the flows: in chunks that never move, a slot each, in the order in which they were last
// active. The order is kept to about a tenth of a second, so that busy flows do not trade places
// with every packet. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "capture/flow/flow.h"

namespace chokepoint::capture::flow {

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

class Pool {
 public:
  std::uint32_t make();
  void remove(std::uint32_t slot);

  Flow& operator[](std::uint32_t slot) { return entry(slot).flow; }
  const Flow& operator[](std::uint32_t slot) const { return entry(slot).flow; }

  // `flow` is the one in this slot.
  void touch(Flow& flow, std::uint32_t slot, std::int64_t time_ns) {
    const std::int64_t tick = time_ns >> kTickBits;
    if (flow.tick != tick) {
      flow.tick = tick;
      unlink(entry(slot));
      link_newest(slot);
    }
  }

  std::size_t size() const { return size_; }
  std::uint32_t oldest() const { return oldest_; }
  // The one active next after this one; kNoSlot behind the newest.
  std::uint32_t newer(std::uint32_t slot) const { return entry(slot).newer; }

 private:
  static constexpr int kTickBits = 27;
  static constexpr std::uint32_t kChunkBits = 6;

  struct Entry {
    Flow flow{};
    std::uint32_t older = kNoSlot;
    std::uint32_t newer = kNoSlot;
  };

  Entry& entry(std::uint32_t slot) {
    return chunks_[slot >> kChunkBits][slot & ((1U << kChunkBits) - 1)];
  }
  const Entry& entry(std::uint32_t slot) const {
    return chunks_[slot >> kChunkBits][slot & ((1U << kChunkBits) - 1)];
  }
  void unlink(const Entry& gone);
  void link_newest(std::uint32_t slot);

  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t oldest_ = kNoSlot;
  std::uint32_t newest_ = kNoSlot;
  std::uint32_t made_ = 0;
  std::size_t size_ = 0;
};

}  // namespace chokepoint::capture::flow
