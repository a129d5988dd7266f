// link.rate, link.oneway: ways that are slower than they should be with nothing else on. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_rates(JudgeContext& desk);

}  // namespace chokepoint::preflight
