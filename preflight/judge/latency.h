// link.latency: round trips of a local network that take longer than they should, with nothing else
// on. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_latency(JudgeContext& desk);

}  // namespace chokepoint::preflight
