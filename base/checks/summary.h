// Checks in one line, for a reason that a scheduler shows and a script passes on. Pure functions.
#pragma once

#include <string>

#include "base/checks/check.h"

namespace chokepoint::checks {

// "nic.speed eth0: 1000 Mb/s, wanted 10000 Mb/s"
std::string brief(const Check& check);

// Those that are as bad as this or worse, the worst first and no more than a line holds; empty
// where there are none.
std::string summary(const Checks& checks, Status least);

}  // namespace chokepoint::checks
