// A lane is what a thread has to itself: a ring to record into, and a table of the events it began.
// A thread takes one at its first event, without waiting for others, and gives it back when it
// ends. The table stays where it is: what stands there may be ended by any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/shared_file.h"

namespace chokepoint::capture::nccl::plugin {

struct alignas(64) Lane {
  std::atomic<Entries*> entries = nullptr;
  std::atomic<Ring*> ring = nullptr;  // null: there was no room
  std::uint32_t number = 0;
  // Its thread's.
  Shelf lasting = kLasting;
  Shelf brief = kBrief;
};

class Lanes {
 public:
  // Once, before anything else; false where the system has no more keys for threads.
  bool prepare(SharedFile& file);
  // The calling thread's; null where all are taken, or no memory is left.
  Lane* mine();
  // Of any lane; null where there is none.
  Entry* entry(const Handle& handle);
  // In a child that was forked: it has no part in its parent's.
  void disown() { is_disowned_.store(true, std::memory_order_relaxed); }
  bool is_disowned() const { return is_disowned_.load(std::memory_order_relaxed); }

 private:
  static void leave(void* lane);
  Lane* claim();
  bool furnish(Lane& lane);
  void release(Lane& lane);

  SharedFile* file_ = nullptr;
  unsigned key_ = 0;
  std::atomic<bool> is_disowned_ = false;
  std::atomic<std::uint32_t> taken_ = 0;
  std::array<std::atomic<std::uint64_t>, kRings> owners_ = {};
  std::array<Lane, kRings> lanes_ = {};
};
static_assert(kRings == std::size_t{1} << handle::kLaneBits);

}  // namespace chokepoint::capture::nccl::plugin
