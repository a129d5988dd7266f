// Events as records (capture/nccl/ring/layout.h): their entries are filled, their states change
// them, and their ends, or beginnings, are written into the calling thread's ring.
#pragma once

#include <array>
#include <cstdint>

#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/interface.h"
#include "capture/nccl/plugin/lanes.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

using Record = std::array<std::uint64_t, kWords>;

inline std::uint64_t head_of(Kind kind, const Communicator& communicator) {
  return static_cast<std::uint64_t>(kind) | communicator.number.load(std::memory_order_relaxed)
                                                << 8;
}

// A rank or a peer; below 0 means none.
constexpr std::uint64_t rank_word(int rank) {
  return rank < 0 ? kNone : static_cast<std::uint64_t>(rank);
}

// Writes the record; counts it as lost if there is no lane, or no ring to it.
void keep(const Lane* lane, const Record& record);

// An event, whose entry is the caller's alone in begin() and end().
struct Moment {
  Entry& entry;
  What what = What::Foreign;
  Communicator& communicator;
  const Lane* lane = nullptr;
  std::uint64_t now_ns = 0;
};

// Collectives and messages are recorded here: what NCCL reports as their end is only that they were
// enqueued. `id` is the entry's number, `parent` a handle that was checked already.
void begin(const Moment& moment, const Descriptor& descriptor, std::uint64_t id,
           std::uint64_t parent);
// A new state of a Proxy, Step or Kernel; other events have none that matter. `arguments` may be
// null.
void change(Entry& entry, What what, int state, const StateArguments* arguments);
void end(const Moment& moment);

}  // namespace chokepoint::capture::nccl::plugin
