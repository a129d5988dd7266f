// The interfaces that a job may use: those that are up and have an address. A connection passes one
// of them, by whatever lies below it (bond, VLAN, bridge), so no packet is seen twice. Loopback is
// no link that could hold a job back.
#pragma once

#include <string>
#include <vector>

#include "base/sys/root.h"

namespace chokepoint::capture::run {

// Sorted; those that lead to other hosts first where there are very many, and no more than that.
std::vector<std::string> candidates(const sys::Root& root);

// What lies below it and above it, at any distance, sorted.
std::vector<std::string> relatives_of(const std::string& interface, const sys::Root& root);

}  // namespace chokepoint::capture::run
