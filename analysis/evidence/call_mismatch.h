// Ranks that called different things as the same call of a group: other kinds, sizes or types.
// Pure.
#pragma once

#include <optional>

#include "analysis/evidence/wait_edges.h"

namespace chokepoint::analysis {

// The first such call that is open at some rank.
std::optional<WaitReason> mismatched(const Waits& waits);

}  // namespace chokepoint::analysis
