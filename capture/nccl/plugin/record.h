// A record on its way into the ring of the calling thread.
#pragma once

#include <array>
#include <cstdint>

#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/lanes.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

using Record = std::array<std::uint64_t, kWords>;

inline std::uint64_t head_of(Kind kind, const Communicator& communicator) {
  return static_cast<std::uint64_t>(kind) | communicator.number.load(std::memory_order_relaxed)
                                                << 8;
}

// A rank or a peer; there is none below 0.
constexpr std::uint64_t rank_word(int rank) {
  return rank < 0 ? kNone : static_cast<std::uint64_t>(rank);
}

// Counted where there is no lane, or no ring to it.
void keep(const Lane* lane, const Record& record);

}  // namespace chokepoint::capture::nccl::plugin
