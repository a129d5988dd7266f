// The address that other hosts test: where the coordinator reached an agent, unless that is one
// that only the coordinator can use (loopback, or another host's that forwards). Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/result/measured.h"

namespace chokepoint::preflight::lead {

// For each host, in their order; as `hosts` have it where nothing better is known.
std::vector<std::string> test_addresses(const std::vector<HostResult>& hosts);

// Where `to` would be reached by the other family, over the interfaces by which the two are tested;
// nothing where they share no network of that family there.
std::optional<std::string> other_family_address(const HostResult& from, const HostResult& to);

}  // namespace chokepoint::preflight::lead
