// Which events NCCL is asked for. Collectives and messages always; of the parts they are made of,
// those that cost the job little with this version of NCCL, or those that the environment names.
#pragma once

#include <cstdint>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

// "proxies,steps,kernels" or some of these, "all", "none"; any other value counts as not set.
inline constexpr const char* kEventsVariable = "CHOKEPOINT_NCCL_EVENTS";

// From ncclGetVersion() of the library that contains the address `caller`; 0 where it has none.
int nccl_version_of(const void* caller);

// `text` may be null. `table`: the version of the interface by which NCCL called.
Choice choose_events(const char* text, int nccl_version, int table);

// Bits of NCCL's mask: at any time, and in addition while a window is open.
std::uint64_t always_of(const Choice& choice);
std::uint64_t in_windows_of(const Choice& choice);

}  // namespace chokepoint::capture::nccl::plugin
