// Which hosts a scheduler shall give no job, and the reason it shows: for scripts. Pure function.
#pragma once

#include <string>

#include "preflight/judge/finding.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// A line for each host that something CRITICAL is the fault of, and of that host alone: its name as
// it was given, a space, the reason. Not for what stands between hosts, nor for an agent that is
// missing or has another key, which says nothing of the host. Empty where no pair could be tested:
// then the fault may be here.
std::string drain_list(const Measured& measured, const Judgement& judgement);

}  // namespace chokepoint::preflight
