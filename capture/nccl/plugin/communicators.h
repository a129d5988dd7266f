// The communicators of a process, the handles that NCCL gets as their contexts, and the masks by
// which NCCL is asked for events. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/lanes.h"
#include "capture/nccl/plugin/next.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

struct Communicator {
  Word state;   // the use, and its Membership
  Word number;  // in records
  Word version;
  std::atomic<int*> mask = nullptr;  // NCCL's own word
  Word switch_at_ns;                 // when to compute the mask again
  // The next profiler's context of it; next null: it takes no part in this communicator.
  std::atomic<NextTable*> next = nullptr;
  std::atomic<void*> next_context = nullptr;
};

class Communicators {
 public:
  static constexpr std::size_t kCommunicators = 512;

  // The place is the caller's until publish(); null if none is free.
  Communicator* add();
  // Returns its handle: what NCCL gets.
  std::uint64_t publish(Communicator& communicator);
  // Null if no living communicator has this handle.
  Communicator* find(std::uint64_t handle);
  // True for the one caller that ends it; then remove() must follow.
  bool leave(std::uint64_t handle);
  // True if it was the last one.
  bool remove(Communicator& communicator);

 private:
  std::atomic<std::uint32_t> numbers_ = 0;
  std::atomic<std::uint32_t> living_ = 0;
  std::array<Communicator, kCommunicators> communicators_ = {};
};

// Sets NCCL's mask of events once a second: ours and the next profiler's, with the costly events in
// their windows; a change of window is recorded. NCCL reads the mask at each operation, so that a
// store is enough.
void keep_mask(Communicator& communicator, const Lane* lane, std::uint64_t now_ns);

}  // namespace chokepoint::capture::nccl::plugin
