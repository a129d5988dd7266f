// What NCCL calls, the same for all versions of its interface once init has distinguished them.
// Called on any of the job's threads, at any time, in any order: nothing here waits, fails, or
// trusts a handle. Invalid calls are counted and ignored; the result is always 0.
#pragma once

#include "capture/nccl/plugin/interface.h"

namespace chokepoint::capture::nccl::plugin {

int join(void** context, const Joining& joining);
int start(void* context, void** handle, Descriptor* descriptor);
int stop(void* handle);
int record_state(void* handle, int state, StateArguments* arguments);
int finalize(void* context);

}  // namespace chokepoint::capture::nccl::plugin

// What NCCL looks up by name (tables.cc).
extern "C" {
// NOLINTBEGIN(readability-identifier-naming,bugprone-dynamic-static-initializers): NCCL's names,
// and constants
__attribute__((
    visibility("default"))) extern chokepoint::capture::nccl::plugin::Table4 const ncclProfiler_v4;
__attribute__((
    visibility("default"))) extern chokepoint::capture::nccl::plugin::Table5 const ncclProfiler_v5;
__attribute__((
    visibility("default"))) extern chokepoint::capture::nccl::plugin::Table5 const ncclProfiler_v6;
__attribute__((
    visibility("default"))) extern chokepoint::capture::nccl::plugin::Table5 const ncclProfiler_v7;
// NOLINTEND(readability-identifier-naming,bugprone-dynamic-static-initializers)
}
