// Do the hosts fall into two groups that are slow with each other while many are at it, and fast
// among themselves? Then they share something between them, and a cut there shows what it carries.
// Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "preflight/judge/limits.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

using Groups = std::pair<std::vector<HostIndex>, std::vector<HostIndex>>;

// By the rates of the rounds. Each group has two hosts at least, and both are in order.
std::optional<Groups> find_groups(const Measured& measured, const Limits& limits);

}  // namespace chokepoint::preflight
