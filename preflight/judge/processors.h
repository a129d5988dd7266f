// host.cpu: hosts whose processor holds back the flows they serve. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

// Most of what was tested had a core to itself, and that was not enough: as on a machine that plays
// all hosts.
bool is_short_of_processors(const Scene& scene);

void judge_processors(Desk& desk);

}  // namespace chokepoint::preflight
