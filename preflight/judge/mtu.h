// link.mtu: interfaces of one network with different MTUs, paths that carry less than both their
// ends, and black holes. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_mtus(JudgeContext& desk);

}  // namespace chokepoint::preflight
