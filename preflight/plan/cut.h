// Cuts through the cluster: two groups of hosts, and who sends to whom across while everything is
// on at once, to see what the groups share. Values; pure functions.
#pragma once

#include <functional>
#include <vector>

#include "preflight/plan/tournament.h"

namespace chokepoint::preflight::plan {

struct Cut {
  std::vector<HostIndex> left = {};
  std::vector<HostIndex> right = {};
};

// The first half of the hosts and the second: racks mostly stand in the order of names. With an odd
// number the right one is larger.
Cut halves(const std::vector<HostIndex>& hosts);

// Each host of the smaller group with one of the other; with `known` ones where that is possible,
// as what they reach alone need not be measured then.
Round across(const Cut& cut, const std::function<bool(const Pair&)>& known);

}  // namespace chokepoint::preflight::plan
