// host.cpu: hosts whose processor holds back the flows they serve. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_processors(JudgeContext& desk);

}  // namespace chokepoint::preflight
