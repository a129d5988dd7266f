// A shell script that makes those changes advised by checks that it can also undo, and names the
// others. The values to restore are read below `root`.
#pragma once

#include <string>

#include "base/host/inventory.h"
#include "base/sys/root.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

std::string apply_plan(const host::Inventory& inventory, const Checks& checks,
                       const sys::Root& root);

}  // namespace chokepoint::probe
