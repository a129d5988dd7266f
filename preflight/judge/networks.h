// Which hosts were tested in one IP network. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

// Hosts by the network of the address they were tested at; those of whom it is not known are left
// out.
std::map<std::string, std::vector<HostIndex>> networks_of(const ClusterInput& scene);

}  // namespace chokepoint::preflight
