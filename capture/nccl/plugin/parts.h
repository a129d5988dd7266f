// What becomes of an event, by its kind: its entry is filled, states add to it, its end is
// recorded. The entry is the caller's alone in begin() and end().
#pragma once

#include <cstdint>

#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/interface.h"
#include "capture/nccl/plugin/lanes.h"

namespace chokepoint::capture::nccl::plugin {

// What is under way, and what the caller knows of it.
struct Moment {
  Entry& entry;
  What what = What::Foreign;
  Communicator& communicator;
  const Lane* lane = nullptr;
  std::uint64_t now_ns = 0;
};

// Collectives and messages are recorded here: what NCCL tells as their end is no more than that
// they were enqueued. `id` is the entry's number, `parent` a handle that was looked at already.
void begin(const Moment& moment, const Descriptor& descriptor, std::uint64_t id,
           std::uint64_t parent);
// Of Proxy, Step and Kernel; anything else has none that matter. `arguments` may be null.
void change(Entry& entry, What what, int state, const StateArguments* arguments);
void end(const Moment& moment);

}  // namespace chokepoint::capture::nccl::plugin
