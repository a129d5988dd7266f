#include "base/host/inventory.h"

namespace chokepoint::host {

Inventory read_inventory(const sys::Root& root) {
  return {
      .kernel = read_kernel(root),
      .network = read_network(root),
  };
}

Facts facts_of(const Inventory& inventory) {
  Facts facts;
  append_facts(inventory.kernel, facts);
  append_facts(inventory.network, facts);
  return facts;
}

}  // namespace chokepoint::host
