// link.loss: packets that the network lost while nothing else was on. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

void judge_loss(JudgeContext& desk);

}  // namespace chokepoint::preflight
