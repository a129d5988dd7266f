// name.loopback, name.unresolved, name.differs, name.elsewhere: what the hosts' resolvers say of
// each other's names. Pure.
#pragma once

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

// Whether the host was asked for its own name: then doctor's answer adds nothing.
bool was_asked_for_itself(const HostResult& host, HostIndex index);

void judge_names(JudgeContext& desk);

}  // namespace chokepoint::preflight
