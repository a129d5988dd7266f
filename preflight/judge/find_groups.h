// find_groups and the like for who has laid out the measurements already.
#pragma once

#include <optional>

#include "preflight/judge/expectation.h"
#include "preflight/judge/groups.h"
#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

std::optional<Groups> find_groups(const ClusterInput& scene, const Expectations& expectations);
// The same question about groups that are given.
bool are_groups(const ClusterInput& scene, const Expectations& expectations, const Groups& groups);

}  // namespace chokepoint::preflight
