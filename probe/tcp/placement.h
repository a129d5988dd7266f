// Where a stream's thread may run. On a host of several memory nodes it stays on the one that its
// NIC is on; among that node's processors, and on a host of one node, the scheduler spreads threads
// better than any fixed plan does: pinned to one processor each, streams stall behind whatever else
// runs there.
#pragma once

#include <string>
#include <vector>

#include "base/sys/root.h"

namespace chokepoint::probe::tcp {

// The processors near the interface that this connected socket's local address is on. Empty where
// it makes no difference, or cannot be told.
std::vector<int> cpus_near(int fd, const sys::Root& root);

// The same for an interface by its name.
std::vector<int> cpus_near_interface(const std::string& interface, const sys::Root& root);

}  // namespace chokepoint::probe::tcp
