// What the hosts' doctors found: what matters here, once for all hosts that have it, and without
// what the preflight measured itself. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

// After the ports were judged: counters of a port that is blamed already belong to that finding.
void judge_doctors(JudgeContext& desk);

}  // namespace chokepoint::preflight
