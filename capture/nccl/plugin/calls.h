// What NCCL calls, the same for all versions of its interface once init has told them apart. Called
// on any of the job's threads, at any time, in any order: nothing here waits, fails, or believes a
// handle. What makes no sense is counted and let pass; 0 is always the answer.
#pragma once

#include "capture/nccl/plugin/interface.h"

namespace chokepoint::capture::nccl::plugin {

int join(void** context, const Joining& joining);
int start(void* context, void** handle, Descriptor* descriptor);
int stop(void* handle);
int record_state(void* handle, int state, StateArguments* arguments);
int finalize(void* context);

}  // namespace chokepoint::capture::nccl::plugin
