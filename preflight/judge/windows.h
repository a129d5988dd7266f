// path.window: socket buffers that are too small for what the path could carry: bandwidth times
// round trip. It names the host whose buffer it is, and its sysctl. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_windows(JudgeContext& desk);

}  // namespace chokepoint::preflight
