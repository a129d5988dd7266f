// Every check of this host over one inventory, in the order in which doctor shows them.
#pragma once

#include "base/host/inventory.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

Checks examine(const host::Inventory& inventory);

}  // namespace chokepoint::probe
