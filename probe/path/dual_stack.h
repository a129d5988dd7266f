// The dual-stack trap: a name leads to IPv4 and to IPv6, but only one of them works, or the peer
// listens on one alone. A program that takes the other one fails, or hangs until it gives up; torch
// RPC takes IPv4 even where it was told IPv6. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "probe/path/families.h"

namespace chokepoint::probe::path {

// One sentence that names the trap, and one that says what to do; nothing where all is well.
std::optional<std::string> dual_stack_finding(const HostFacts& host);

}  // namespace chokepoint::probe::path
