// The addresses at which hosts test each other, by what their agents reported. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {

// The address at which other hosts test each host, in the order of `hosts`: where the coordinator
// reached its agent, unless only the coordinator can use that one (loopback, or another host's that
// forwards) and a better one is known.
std::vector<std::string> test_addresses(const std::vector<HostResult>& hosts);

// The address of `to` in the other family, on the interfaces by which the two are tested; nullopt
// if they share no network of that family there.
std::optional<std::string> other_family_address(const HostResult& from, const HostResult& to);

}  // namespace chokepoint::preflight::coordinator
