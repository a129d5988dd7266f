// NCCL's word of what it tells of: ours and the next profiler's, with the costly events in their
// windows. NCCL asks anew at each operation, so that a store is all it takes.
#pragma once

#include <cstdint>

#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/lanes.h"

namespace chokepoint::capture::nccl::plugin {

// Looks at the time once a second, and sets the word; a change of window is recorded.
void keep_mask(Communicator& communicator, const Lane* lane, std::uint64_t now_ns);

}  // namespace chokepoint::capture::nccl::plugin
