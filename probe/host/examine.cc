#include "probe/host/examine.h"

#include "probe/host/cpu_checks.h"
#include "probe/host/ip_checks.h"
#include "probe/host/kernel_checks.h"
#include "probe/host/memory_checks.h"
#include "probe/host/name_checks.h"
#include "probe/host/network_checks.h"
#include "probe/host/tcp_buffer_checks.h"
#include "probe/host/tcp_checks.h"

namespace chokepoint::probe {

Checks examine(const host::Inventory& inventory) {
  Checks checks;
  check_kernel(inventory.kernel, checks);
  check_network(inventory.network, checks);
  check_cpu(inventory.cpu, checks);
  check_numa(inventory.memory, inventory.sysctls, checks);
  check_memory(inventory.memory, checks);
  check_locked_memory(inventory.process, false, checks);
  check_tcp_buffers(inventory.kernel, inventory.sysctls, inventory.links.fastest_mbps, checks);
  check_tcp(inventory.sysctls, inventory.links, checks);
  check_names(inventory.own_name, inventory.addresses, inventory.process, checks);
  check_interface_choice(inventory.addresses, inventory.process, checks);
  check_ip(inventory.addresses, inventory.sysctls, checks);
  return checks;
}

}  // namespace chokepoint::probe
