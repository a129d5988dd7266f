// baseline.worse, baseline.hosts: what fell behind the last time by more than runs vary, and which
// hosts are new or missing. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

// After all others: what they have found already is marked as worse than the last time.
void judge_baseline(JudgeContext& desk);

}  // namespace chokepoint::preflight
