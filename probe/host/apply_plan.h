// A shell script that makes the changes that checks advise, as far as it can also take them back,
// and names the others. Values that are to come back are read below `root`.
#pragma once

#include <string>

#include "base/host/inventory.h"
#include "base/sys/root.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

std::string apply_plan(const host::Inventory& inventory, const Checks& checks,
                       const sys::Root& root);

}  // namespace chokepoint::probe
