// uplink.oversubscribed, link.shared: what is well alone and slow while others are at it. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_uplinks(JudgeContext& desk);

// After all that has a better reason.
void judge_sharing(JudgeContext& desk);

}  // namespace chokepoint::preflight
