// Events on their way to the next profiler, in its own terms: its context, its handles, and its
// handles of the parents.
#pragma once

#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/plugin/interface.h"

namespace chokepoint::capture::nccl::plugin {

// The entry that a parent's handle means, in this communicator; null where it means none.
Entry* find_parent(std::uint64_t handle, std::uint64_t communicator);

// The handle it gave; 0: none.
std::uint64_t pass_start(const Communicator& communicator, std::uint64_t handle,
                         const Descriptor& descriptor, std::uint64_t type);
void pass_stop(const Communicator& communicator, std::uint64_t its_handle);
void pass_state(const Communicator& communicator, std::uint64_t its_handle, int state,
                StateArguments* arguments);

}  // namespace chokepoint::capture::nccl::plugin
