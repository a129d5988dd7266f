// Is any host, link, slot or path not what it should be, and which one? From all that a preflight
// measured, each thing at fault once: whoever is blamed is the smallest explanation of which ways
// suffer, and his ways accuse nobody else. Pure.
#pragma once

#include "preflight/judge/finding.h"
#include "preflight/judge/limits.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// `before`: the last time's, or null. Its hosts are matched by name.
Judgement judge(const Measured& measured, const Limits& limits, const Measured* before);

}  // namespace chokepoint::preflight
