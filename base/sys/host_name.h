// What this host calls itself. Any thread.
#pragma once

#include <string>

#include "base/sys/root.h"

namespace chokepoint::sys {

// "unknown" where a copied host does not say.
std::string host_name(const Root& root);

}  // namespace chokepoint::sys
