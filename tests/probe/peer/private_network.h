// A network of a test's own: this process in a fresh network namespace with nothing but a loopback
// interface, so that well-known ports are free and no test meets another. Goes with the process.
#pragma once

#include <string>

namespace chokepoint::peers {

// Why it cannot be had here; empty once this process is in it.
std::string enter_private_network();

}  // namespace chokepoint::peers
