#include "probe/host/examine.h"

#include "probe/host/kernel_checks.h"
#include "probe/host/network_checks.h"

namespace chokepoint::probe {

Checks examine(const host::Inventory& inventory) {
  Checks checks;
  check_kernel(inventory.kernel, checks);
  check_network(inventory.network, checks);
  return checks;
}

}  // namespace chokepoint::probe
