// test.failed: tests of pairs that came to nothing though both hosts are there; link.families: an
// address family that does not carry. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_troubles(JudgeContext& desk);
void judge_families(JudgeContext& desk);

}  // namespace chokepoint::preflight
