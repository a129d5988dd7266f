// The address that other hosts test: where the coordinator reached an agent, unless that is one
// that only the coordinator can use (loopback, or another host's that forwards). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "preflight/result/measured.h"

namespace chokepoint::preflight::lead {

// For each host, in their order; as `hosts` have it where nothing better is known.
std::vector<std::string> test_addresses(const std::vector<HostResult>& hosts);

}  // namespace chokepoint::preflight::lead
